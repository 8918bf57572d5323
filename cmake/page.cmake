# The page of `hypar report` as C: page.html with its style and its scripts in it, cut in two where the
# data goes. Run at build time: cmake -DFOLDER=src/report/html -DOUT=page_source.c -P page.cmake

set(scripts format.js data.js headline.js plan.js timeline.js memory.js traffic.js tables.js page.js)

file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.css style)
set(script)
foreach(name ${scripts})
  file(READ ${FOLDER}/${name} text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "/*STYLE*/" "${style}" page "${page}")
string(REPLACE "/*SCRIPT*/" "${script}" page "${page}")
string(FIND "${page}" "/*DATA*/" cut)
string(LENGTH "/*DATA*/" length)
math(EXPR behind "${cut} + ${length}")
string(SUBSTRING "${page}" 0 ${cut} head)
string(SUBSTRING "${page}" ${behind} -1 tail)

set(source "#include \"report/html/page.h\"\n")
foreach(part head tail)
  string(HEX "${${part}}" bytes)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND source "const unsigned char hp_page_${part}[] = {${bytes}};\n"
                       "const size_t hp_page_${part}_bytes = sizeof hp_page_${part};\n")
endforeach()
file(WRITE ${OUT} "${source}")
