# SPDX-License-Identifier: MIT
#
# Tests that fail when a program leaks, or allocates more than its budgets:
#
#	find_package(Seep REQUIRED)
#	seep_add_leak_test(NAME parser.memory COMMAND parser_test --all
#		BUDGETS "leaks<=0" "peak<24MB" "function:parse_*:allocs<10k")
#
# The test records COMMAND with "seep run" and then checks the recording with "seep check". It fails
# as COMMAND does, or with the status of "seep check": 1 if a budget is broken, 2 if one could not be
# checked. Without BUDGETS there must be no leaks. docs/check.md has all of it.
#
#	NAME NAME		of the test
#	COMMAND PROGRAM ARG...	a target or a path; a target's folder, as add_test()
#	BUDGETS BUDGET...	as for "seep check --budget"
#	BUDGETS_FILE FILE	as for "seep check --budgets"
#	BASELINE FILE		an earlier recording
#	SUPPRESSIONS FILE...	leaks that are known
#	RUN_OPTIONS OPTION...	more of "seep run": --growth-after 10s
#	CHECK_OPTIONS OPTION...	more of "seep check": --allow-unknown, --sarif FILE
#	RECORDING FILE		where it is left (default: NAME.seep in the binary folder)
#	WORKING_DIRECTORY DIR	of the program
#
# Paths are relative to the source folder, RECORDING to the binary folder. Source files are named
# relative to CMAKE_SOURCE_DIR.

find_program(SEEP_EXECUTABLE seep HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin"
	"${CMAKE_CURRENT_LIST_DIR}/../../../../bin" DOC "The heap profiler seep")

function(seep_add_leak_test)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;BUDGETS_FILE;BASELINE;RECORDING;WORKING_DIRECTORY"
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
	if(NOT DEFINED arg_RECORDING)
		string(MAKE_C_IDENTIFIER "${arg_NAME}" arg_RECORDING)
		string(APPEND arg_RECORDING ".seep")
	endif()
	cmake_path(ABSOLUTE_PATH arg_RECORDING BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
	if(NOT DEFINED arg_WORKING_DIRECTORY)
		set(arg_WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
	endif()

	list(POP_FRONT arg_COMMAND program)
	if(TARGET "${program}")
		set(program "$<TARGET_FILE:${program}>")
	endif()
	set(check --source-root "${CMAKE_SOURCE_DIR}" ${arg_CHECK_OPTIONS})
	foreach(budget IN LISTS arg_BUDGETS)
		list(APPEND check --budget "${budget}")
	endforeach()
	foreach(rules IN LISTS arg_SUPPRESSIONS)
		cmake_path(ABSOLUTE_PATH rules BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
		list(APPEND check --suppressions "${rules}")
	endforeach()
	foreach(option IN ITEMS BUDGETS_FILE BASELINE)
		if(DEFINED arg_${option})
			cmake_path(ABSOLUTE_PATH arg_${option}
				BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
		endif()
	endforeach()
	if(DEFINED arg_BUDGETS_FILE)
		list(APPEND check --budgets "${arg_BUDGETS_FILE}")
	endif()
	if(DEFINED arg_BASELINE)
		list(APPEND check --baseline "${arg_BASELINE}")
	endif()
	list(LENGTH check check_count)

	# Both commands in one test: the words of "seep check" first, so many, then those of "seep run".
	# The program's failure counts more than what its budgets say.
	set(script [=[
seep=$1 recording=$2 count=$3
shift 3
# What an earlier test left there is not what is checked.
rm -f "$recording"
(shift "$count" && exec "$seep" run -q --force -o "$recording" "$@")
status=$?
[ $status -eq 0 ] || echo "seep_add_leak_test: the program ended with status $status" >&2
rest=$(($# - count)) i=0
while [ $i -lt "$count" ]; do set -- "$@" "$1" && shift && i=$((i + 1)); done
shift "$rest"
"$seep" check "$@" "$recording"
checked=$?
[ $status -eq 0 ] || exit $status
exit $checked]=])
	add_test(NAME "${arg_NAME}" WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}"
		COMMAND sh -c "${script}" seep_add_leak_test "${SEEP_EXECUTABLE}" "${arg_RECORDING}"
			"${check_count}" ${check} ${arg_RUN_OPTIONS} -- "${program}" ${arg_COMMAND})
endfunction()
