/* SPDX-License-Identifier: MIT */
/*
 * What may follow the words of a command line, from the tables that help is made from. The scripts
 * of cmd_completion.c ask at each Tab: so one place knows it for all shells, and nothing that was
 * typed, and no name of a process, is ever read as shell code.
 */
#ifndef SEEP_CLI_COMPLETE_H
#define SEEP_CLI_COMPLETE_H

#include <stdio.h>

/**
 * seep_complete - print what may stand in place of the last word
 * @words: NULL-terminated; the first is seep itself, the last, perhaps empty, is being typed
 *
 * One a line, a tab before its summary. Those that do not begin with what is typed are printed too:
 * each shell has its own idea of what matches. ":files", ":folders" and ":command N" stand for what
 * the shell knows itself; the command line of another program begins at word N. "=" may be a word
 * of its own, as it is for bash, between an option and its value.
 */
void seep_complete(char **words, FILE *out);

#endif
