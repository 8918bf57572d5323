# How much of a long test is run, as tests/length.h has it for programs: a script reads this file by '.'.
full_length() { # or soak
    case $HYPAR_TEST_LENGTH in full | soak) return 0 ;; *) return 1 ;; esac
}
soak_length() {
    [ "$HYPAR_TEST_LENGTH" = soak ]
}
