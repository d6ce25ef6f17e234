# Compiler settings that every target of the project shares, and the two functions that declare targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Our asserts stay on: a release of the libraries that we link has them off, ours are the tests' second line.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -gline-tables-only")
set(CMAKE_C_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

find_program(GIRIH_CCACHE ccache)
if(GIRIH_CCACHE)
  # The environment makes precompiled headers cacheable (ccache manual, section "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
      # A second clone finds what the first one compiled.
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "CCACHE_NOHASHDIR=1" ${GIRIH_CCACHE})
endif()

add_library(girih_options INTERFACE)
target_include_directories(girih_options INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
target_compile_options(girih_options INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(girih_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
target_link_options(girih_options INTERFACE -fuse-ld=lld)
if(GIRIH_SANITIZE)
  # The sanitizers' runtime as a shared library: our programs, the driver library that they open and the Python extension
  # must share one, and Python itself gets it by LD_PRELOAD. LLVM's classes have no type information that vptr can check.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-x86_64.so
                  OUTPUT_VARIABLE GIRIH_ASAN_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  cmake_path(GET GIRIH_ASAN_RUNTIME PARENT_PATH GIRIH_ASAN_FOLDER)
  set(GIRIH_SANITIZE_OPTIONS -fsanitize=${GIRIH_SANITIZE} -fno-sanitize=vptr -shared-libsan)
  target_compile_options(girih_options INTERFACE ${GIRIH_SANITIZE_OPTIONS} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(girih_options INTERFACE ${GIRIH_SANITIZE_OPTIONS} "LINKER:-rpath,${GIRIH_ASAN_FOLDER}")
endif()

# girih_library(NAME SOURCES ... [LINK ...]): a static library of the project.
function(girih_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC girih_options ${ARG_LINK})
endfunction()

# girih_tool(NAME SOURCES ... [LINK ...]): a program in bin/.
function(girih_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE girih_options ${ARG_LINK})
endfunction()
