# MLIR and LLVM as shared libraries: one copy of each in a process, TypeIDs and options included.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(girih_mlir INTERFACE)
target_include_directories(girih_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(GIRIH_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(girih_mlir INTERFACE ${GIRIH_LLVM_DEFINITIONS})
target_link_libraries(girih_mlir INTERFACE MLIR LLVM)

# One translation unit's headers, precompiled once and reused by every MLIR library of ours.
add_library(girih_mlir_pch STATIC "${PROJECT_SOURCE_DIR}/cmake/pch.cpp")
target_link_libraries(girih_mlir_pch PUBLIC girih_options girih_mlir)
target_precompile_headers(girih_mlir_pch PRIVATE "${PROJECT_SOURCE_DIR}/cmake/pch.h")

# girih_mlir_library(NAME SOURCES ... [LINK ...] [DEPENDS ...]): a library over MLIR.
function(girih_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  girih_library(${name} SOURCES ${ARG_SOURCES} LINK girih_mlir ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM girih_mlir_pch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
