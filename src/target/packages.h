/* SPDX-License-Identifier: MIT */
/* Which packages of the distribution installed some files. */
#ifndef SEEP_TARGET_PACKAGES_H
#define SEEP_TARGET_PACKAGES_H

#include <stddef.h>

/**
 * seep_packages_of - look at dpkg's lists, where there are any
 * @paths:     NULL among them is a file that is not known
 * @ret_names: @count names, NULL for what no package has; each released with free()
 */
void seep_packages_of(const char *const *paths, size_t count, char **ret_names);

#endif
