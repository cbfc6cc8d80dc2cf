/* SPDX-License-Identifier: MIT */
/*
 * Real objects for the tests of src/cfi: an ELF file laid out in memory as the loader would, or a
 * library that the loader did load, together with libdw's reader of the same file.
 */
#ifndef SEEP_TESTS_CFI_IMAGE_H
#define SEEP_TESTS_CFI_IMAGE_H

#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/cfi.h"

enum { IMAGE_CODE_MAX = 16 };

struct image {
	char path[PATH_MAX];
	struct cfi_module module;
	uintptr_t bias; /* a runtime address minus the file's */
	struct {
		uintptr_t start, bytes;
		const char *name;
	} code[IMAGE_CODE_MAX]; /* the executable sections, at runtime addresses */
	unsigned code_count;
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	void *handle; /* from dlopen, or */
	void *map;    /* our own mapping of map_bytes */
	size_t map_bytes;
};

static inline void image_close(struct image *image)
{
	if (image->cfi)
		dwarf_cfi_end(image->cfi);
	if (image->elf)
		elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	if (image->map)
		munmap(image->map, image->map_bytes);
	if (image->handle)
		dlclose(image->handle);
}

static inline bool image_open_elf(struct image *image)
{
	elf_version(EV_CURRENT);
	image->fd = open(image->path, O_RDONLY | O_CLOEXEC);
	if (image->fd < 0)
		return false;
	image->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
	image->cfi = image->elf ? dwarf_getcfi_elf(image->elf) : NULL;
	return image->cfi != NULL;
}

static inline bool image_find_hdr(struct image *image)
{
	size_t count = 0;

	(void)elf_getphdrnum(image->elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(image->elf, (int)i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME)
			image->module.eh_frame_hdr = (const uint8_t *)(image->bias + phdr.p_vaddr);
	}
	return image->module.eh_frame_hdr;
}

/* Sections, not segments: some linkers put read-only data into the executable segment. */
static inline bool image_find_code(struct image *image)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(image->elf, section)) && image->code_count < IMAGE_CODE_MAX) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(section, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR))
			continue;
		image->code[image->code_count].start = image->bias + shdr.sh_addr;
		image->code[image->code_count].name = elf_strptr(image->elf, names, shdr.sh_name);
		image->code[image->code_count++].bytes = shdr.sh_size;
	}
	return image->code_count > 0 && image_find_hdr(image);
}

/* The section that holds a pc; NULL: none that is code. */
static inline const char *image_section(const struct image *image, uintptr_t pc)
{
	for (unsigned i = 0; i < image->code_count; i++)
		if (pc - image->code[i].start < image->code[i].bytes)
			return image->code[i].name;
	return NULL;
}

/* A library that the loader maps; false when there is no such library. */
static inline bool image_load(struct image *image, const char *name)
{
	struct dl_find_object found;
	struct link_map *map;

	*image = (struct image){ .fd = -1 };
	image->handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	if (!image->handle)
		return false;
	if (dlinfo(image->handle, RTLD_DI_LINKMAP, &map) != 0 ||
	    _dl_find_object(map->l_ld, &found) != 0)
		return false;
	(void)snprintf(image->path, sizeof(image->path), "%s", map->l_name);
	image->bias = map->l_addr;
	image->module.start = (uintptr_t)found.dlfo_map_start;
	image->module.end = (uintptr_t)found.dlfo_map_end;
	return image_open_elf(image) && image_find_code(image) &&
	       image->module.eh_frame_hdr == found.dlfo_eh_frame;
}

static inline bool image_map_segments(struct image *image, uintptr_t page)
{
	size_t count = 0;

	(void)elf_getphdrnum(image->elf, &count);
	for (size_t i = 0; i < count; i++) {
		uintptr_t start;
		GElf_Phdr phdr;

		if (!gelf_getphdr(image->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    phdr.p_filesz == 0)
			continue;
		start = phdr.p_vaddr & ~(page - 1);
		if (mmap((void *)(image->bias + start), phdr.p_vaddr + phdr.p_filesz - start,
			 PROT_READ, MAP_PRIVATE | MAP_FIXED, image->fd,
			 (off_t)(phdr.p_offset & ~(page - 1))) == MAP_FAILED)
			return false;
	}
	return true;
}

/* Any ELF file, program or library, laid out as for running but not run. */
static inline bool image_map(struct image *image, const char *path)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = UINTPTR_MAX, high = 0;
	size_t count = 0;

	*image = (struct image){ .fd = -1 };
	(void)snprintf(image->path, sizeof(image->path), "%s", path);
	if (!image_open_elf(image) || elf_getphdrnum(image->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(image->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		low = phdr.p_vaddr < low ? phdr.p_vaddr & ~(page - 1) : low;
		high = phdr.p_vaddr + phdr.p_memsz > high ? phdr.p_vaddr + phdr.p_memsz : high;
	}
	if (low >= high)
		return false;
	image->map_bytes = high - low;
	image->map = mmap(NULL, image->map_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image->map == MAP_FAILED) {
		image->map = NULL;
		return false;
	}
	image->bias = (uintptr_t)image->map - low;
	image->module.start = (uintptr_t)image->map;
	image->module.end = (uintptr_t)image->map + image->map_bytes;
	return image_map_segments(image, page) && image_find_code(image);
}

/* What the loader added to this program's own addresses; the program is the first object. */
static inline int image_take_first_bias(struct dl_phdr_info *info, size_t bytes, void *ret)
{
	(void)bytes;
	*(uintptr_t *)ret = info->dlpi_addr;
	return 1;
}

static inline uintptr_t image_self_bias(void)
{
	uintptr_t bias = 0;

	dl_iterate_phdr(image_take_first_bias, &bias);
	return bias;
}

#endif
