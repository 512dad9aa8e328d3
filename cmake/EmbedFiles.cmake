# cmake -DOUTPUT=FILE.cpp -DHEADER=FILE.hpp -DNAMESPACE=NAME -DNAMES="a;b" -DFILES="path;path" -P EmbedFiles.cmake
# Writes the files as string constants; an empty path ("-") gives an empty one.
set(text "// Made by cmake/EmbedFiles.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
foreach(name path IN ZIP_LISTS NAMES FILES)
  set(content "")
  if(NOT path STREQUAL "-")
    file(READ "${path}" content)
  endif()
  string(APPEND text "const char* const ${name} = R\"EMBEDDED(${content})EMBEDDED\";\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}}  // namespace ${NAMESPACE}\n")
