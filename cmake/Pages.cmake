# SPDX-License-Identifier: MIT
# cmake -D SEEP=build/seep -D TO=FOLDER -P cmake/Pages.cmake: the manual pages of seep and of each
# command, and the scripts of the shells, as seep itself prints them.
file(REMOVE_RECURSE ${TO})
file(MAKE_DIRECTORY ${TO}/man)

function(print file)
	execute_process(COMMAND ${SEEP} ${ARGN} OUTPUT_FILE ${TO}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

print(man/seep.1 help --man)
execute_process(COMMAND ${SEEP} help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z-]+" lines "${help}")
foreach(line IN LISTS lines)
	string(STRIP "${line}" name)
	print(man/seep-${name}.1 help --man ${name})
endforeach()
# Under the names by which the shells look for them.
print(seep completion bash)
print(_seep completion zsh)
print(seep.fish completion fish)
