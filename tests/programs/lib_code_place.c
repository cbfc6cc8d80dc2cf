/* SPDX-License-Identifier: MIT */
// build: -Wl,-Ttext-segment=0x123400000000
/* One function at a place known beforehand: place(fn) calls fn, without a frame pointer. */
__asm__(".text\n"
	".globl place\n"
	".type place, @function\n"
	".p2align 12\n"
	"place:\n"
	".cfi_startproc\n"
	"sub $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"call *%rdi\n"
	"add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size place, .-place\n");
