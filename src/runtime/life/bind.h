/* SPDX-License-Identifier: MIT */
/*
 * Calls of a process that was not started with this library: each word of the loaded modules' data
 * that holds the address of a hooked function gets our hook's instead, and so does what the loader
 * answers from now on, for modules and look-ups to come.
 *
 * Words are compared, not relocations: so tables of addresses, pointers that a module keeps in its
 * own variables, and the loader's pointers to malloc are found as calls by way of a GOT are.
 */
#ifndef SEEP_RUNTIME_BIND_H
#define SEEP_RUNTIME_BIND_H

#include "runtime/rt.h"

/*
 * The hooked functions' addresses become our hooks', or without @binds these theirs. The caller holds the
 * loader's lock, so that none of the modules is unloaded meanwhile. Other threads run: each word changes
 * at once. Both may be repeated.
 */
void rt_bind(bool binds);

/*
 * What the loader answers for malloc, operator new and their like in glibc and the C++ library leads to our
 * hooks, for who looks there before it looks at us (RTLD_DEEPBIND), from the first call on. False: not for
 * all; another thread may be at it.
 */
bool rt_bind_glibc(void);

#endif
