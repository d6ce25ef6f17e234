# `cmake --install build --prefix P`: what a program needs that calls packaged kernels. The runtime, the emulated device
# beside it, their headers, girih-package and girih-emu; for CMake find_package(girih), with the targets girih::runtime
# and girih::girih-package. Neither the compiler nor Python's package is in it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(GIRIH_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/girih")
set_target_properties(girih_runtime PROPERTIES EXPORT_NAME runtime)
file(RELATIVE_PATH GIRIH_LIB_FROM_BIN "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(girih-package PROPERTIES INSTALL_RPATH "$ORIGIN/${GIRIH_LIB_FROM_BIN}")

install(TARGETS girih_runtime girih-package EXPORT girihTargets
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS girih_cuda girih-emu)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/girih/Runtime" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/girih")
install(FILES "${PROJECT_SOURCE_DIR}/include/girih/Driver/CudaDriver.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/girih/Driver")

install(EXPORT girihTargets NAMESPACE girih:: DESTINATION "${GIRIH_CMAKE_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/girihConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/girihConfig.cmake" INSTALL_DESTINATION "${GIRIH_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/girihConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/girihConfig.cmake" "${PROJECT_BINARY_DIR}/girihConfigVersion.cmake"
        DESTINATION "${GIRIH_CMAKE_DIR}")
