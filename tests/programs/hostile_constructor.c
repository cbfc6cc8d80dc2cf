/* SPDX-License-Identifier: MIT */
// build: @lib_hostile_constructor
/* Never gets to its main() when HOSTILE is set; see lib_hostile_constructor. */
void hostile_constructor(void);

int main(void)
{
	hostile_constructor();
	return 0;
}
