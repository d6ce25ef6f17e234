# girih_python_tool(NAME MODULE): a script in the build tree's bin that runs a module of the Python package.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
set(GIRIH_PYTHON_TOOL "${CMAKE_CURRENT_LIST_DIR}/python-tool.in")
function(girih_python_tool name module)
  set(TOOL_MODULE "${module}")
  configure_file("${GIRIH_PYTHON_TOOL}" "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}" @ONLY
                 FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()
