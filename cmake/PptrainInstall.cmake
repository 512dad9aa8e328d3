# cmake --install: the program with its manual, inputs and job scripts, and for other programs libpptrain_plan, by
# find_package(pptrain) or pkg-config. Nothing installed holds the path that it is installed to.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_share ${CMAKE_INSTALL_DATADIR}/pptrain)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/pptrain)
set(_made ${PROJECT_BINARY_DIR}/install)

# The program finds libraries where they were linked, as CUDA's, which no loader knows of.
set_target_properties(pptrain PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS pptrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PPTRAIN_MANUAL}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${PPTRAIN_MANUAL}/bash-completion ${PPTRAIN_MANUAL}/zsh ${PPTRAIN_MANUAL}/fish
  DESTINATION ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY inputs job-scripts DESTINATION ${_share} USE_SOURCE_PERMISSIONS)
install(PROGRAMS apps/profile_torch/profile_torch.py DESTINATION ${_share})
install(FILES README.md CHANGELOG.md CITATION.cff LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN static EXCLUDE PATTERN pipelines EXCLUDE)

# For `module load pptrain`.
configure_file(cmake/packaging/modulefile.in ${_made}/${PROJECT_VERSION} @ONLY)
install(FILES ${_made}/${PROJECT_VERSION} DESTINATION ${_share}/modulefiles/pptrain)

# Headers with what the library is entered by; those that they include come with them.
set(PPTRAIN_PUBLIC_HEADERS base/error.hpp base/log.hpp base/stop.hpp base/units.hpp config/read.hpp cluster/read.hpp
  profile/profile.hpp profile/from_files.hpp profile/analytic.hpp plan/plan.hpp program/check.hpp program/trace.hpp
  cost/cost.hpp schedule/schedule.hpp simulate/order_options.hpp simulate/report.hpp simulate/simulate.hpp
  planners/describe/describe.hpp planners/given_plan.hpp planners/judge/planned_orders.hpp
  planners/ask/restrictions.hpp planners/search.hpp)
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}/src\")
set(HEADERS \"${PPTRAIN_PUBLIC_HEADERS}\")
set(MADE \"${_made}/include\")
set(INCLUDE_FOLDER \"${CMAKE_INSTALL_INCLUDEDIR}/pptrain\")")
install(SCRIPT cmake/InstallHeaders.cmake)

install(TARGETS pptrain_planning EXPORT pptrain ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT pptrain NAMESPACE pptrain:: FILE pptrainTargets.cmake DESTINATION ${_package})
configure_package_config_file(cmake/pptrainConfig.cmake.in ${_made}/pptrainConfig.cmake
  INSTALL_DESTINATION ${_package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${_made}/pptrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${_made}/pptrainConfig.cmake ${_made}/pptrainConfigVersion.cmake DESTINATION ${_package})

# From the folder of the .pc file up to the prefix.
file(RELATIVE_PATH PPTRAIN_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/pptrain_plan.pc.in ${_made}/pptrain_plan.pc @ONLY)
install(FILES ${_made}/pptrain_plan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
