# A CUDA C++ source as C text, with the headers of this project that it includes in it: NVRTC has no files.
# Run at build time: cmake -DROOT=src -DFILE=src/run/backend/cuda/move.cu -DOUT=move.c -P cuda.cmake

get_filename_component(name ${FILE} NAME_WE)
file(READ ${FILE} text)
while(text MATCHES "#include \"([^\"]*)\"\n")
  file(READ ${ROOT}/${CMAKE_MATCH_1} header)
  string(REPLACE "#include \"${CMAKE_MATCH_1}\"\n" "${header}" text "${text}")
endwhile()
string(HEX "${text}" bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "#include \"run/backend/cuda/sources.h\"\nconst char hp_cuda_${name}[] = {${bytes}0};\n")
