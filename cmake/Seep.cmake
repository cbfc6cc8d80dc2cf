# SPDX-License-Identifier: MIT
#
# The header, for programs that say something to seep. Nothing is linked:
#
#	find_package(seep REQUIRED)
#	target_link_libraries(server PRIVATE seep::seep)
#
# And tests that fail when a program leaks, or allocates more than its budgets:
#
#	find_package(seep REQUIRED)
#	seep_add_leak_test(NAME parser.memory COMMAND parser_test --all
#		BUDGETS "leaks<=0" "peak<=24MB" "function:parse_*:allocs<=10k")
#
# makes two tests: parser.memory.record runs COMMAND under "seep run" and fails as it does, and then
# parser.memory checks the recording with "seep check". docs/check.md says when that fails.
#
#	NAME NAME		of the test
#	COMMAND PROGRAM ARG...	a target or a path
#	BUDGETS BUDGET...	as for "seep check --budget" (default: no leaks)
#	BASELINE FILE		an earlier recording
#	SUPPRESSIONS FILE...	leaks that are known
#	RUN_OPTIONS OPTION...	more of "seep run": --growth-after 10s
#	CHECK_OPTIONS OPTION...	more of "seep check": --allow-unknown, --sarif FILE
#	WORKING_DIRECTORY DIR	of the program (default: the binary folder)
#
# The recording is left in the binary folder as NAME.seep. BASELINE and SUPPRESSIONS are relative to
# the source folder, files in CHECK_OPTIONS and the names of source files to CMAKE_SOURCE_DIR.

include("${CMAKE_CURRENT_LIST_DIR}/seep-targets.cmake")
find_program(SEEP_EXECUTABLE seep HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin"
	"${CMAKE_CURRENT_LIST_DIR}/../../../../bin" DOC "The heap profiler seep")

function(seep_add_leak_test)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;BASELINE;WORKING_DIRECTORY"
		"COMMAND;BUDGETS;SUPPRESSIONS;RUN_OPTIONS;CHECK_OPTIONS")
	if(arg_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "seep_add_leak_test: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
	endif()
	if(NOT DEFINED arg_NAME OR NOT DEFINED arg_COMMAND)
		message(FATAL_ERROR "seep_add_leak_test needs NAME and COMMAND")
	endif()
	if(NOT SEEP_EXECUTABLE)
		message(FATAL_ERROR "seep_add_leak_test: no seep was found; set SEEP_EXECUTABLE")
	endif()
	if(NOT DEFINED arg_WORKING_DIRECTORY)
		set(arg_WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
	endif()
	string(REGEX REPLACE "[^A-Za-z0-9._-]" "_" recording "${arg_NAME}.seep")
	set(recording "${CMAKE_CURRENT_BINARY_DIR}/${recording}")
	list(POP_FRONT arg_COMMAND program)
	if(TARGET "${program}")
		set(program "$<TARGET_FILE:${program}>")
	endif()
	set(check ${arg_CHECK_OPTIONS})
	foreach(budget IN LISTS arg_BUDGETS)
		list(APPEND check --budget "${budget}")
	endforeach()
	foreach(option IN ITEMS BASELINE SUPPRESSIONS)
		string(TOLOWER "--${option}" word)
		foreach(file IN LISTS arg_${option})
			cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
			list(APPEND check ${word} "${file}")
		endforeach()
	endforeach()

	add_test(NAME "${arg_NAME}.record" WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}"
		COMMAND "${SEEP_EXECUTABLE}" run -q --force -o "${recording}" ${arg_RUN_OPTIONS} --
			"${program}" ${arg_COMMAND})
	add_test(NAME "${arg_NAME}" WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
		COMMAND "${SEEP_EXECUTABLE}" check ${check} "${recording}")
	# Where the program fails, what it left is not checked.
	set_tests_properties("${arg_NAME}.record" PROPERTIES FIXTURES_SETUP "${arg_NAME}.record")
	set_tests_properties("${arg_NAME}" PROPERTIES FIXTURES_REQUIRED "${arg_NAME}.record")
endfunction()
