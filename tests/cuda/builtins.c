/* A stand-in for the library that NVRTC opens by name when it compiles. */
extern const int stand_in_builtins;
const int stand_in_builtins = 1;
