/* SPDX-License-Identifier: MIT */
/*
 * From an address to its FDE: the sorted table in .eh_frame_hdr, or, where there is none, a
 * bounded scan. The formats are those of the LSB core specification, "Exception Frames".
 */
#include "cfi/cfi_record.h"

enum {
	HEADER_VERSION = 1,
	SCAN_RECORDS_MAX = 16384,
	LETTERS_MAX = 8, /* of an augmentation; "zPLR" is what most have */
};

/* What .eh_frame_hdr says, checked to lie in the module. */
struct header {
	uintptr_t base;	      /* of itself: data-relative values count from here */
	uintptr_t eh_frame;   /* 0: not given */
	const uint8_t *table; /* NULL: no table that we can search */
	uint64_t entries;
	bool wide; /* table of 8-byte pairs, else of 4-byte ones */
};

/* The number alone; @form is known to be one of these. */
static uint64_t read_form(struct core_reader *r, unsigned form)
{
	switch (form) {
	case CFI_PE_ULEB:
		return core_read_uleb(r);
	case CFI_PE_UDATA2:
		return core_read_number(r, 2);
	case CFI_PE_UDATA4:
		return core_read_number(r, 4);
	case CFI_PE_SIGNED | CFI_PE_ULEB:
		return (uint64_t)core_read_sleb(r);
	case CFI_PE_SIGNED | CFI_PE_UDATA2:
		return (uint64_t)(int16_t)core_read_number(r, 2);
	case CFI_PE_SIGNED | CFI_PE_UDATA4:
		return (uint64_t)(int32_t)core_read_number(r, 4);
	default:
		return core_read_number(r, 8);
	}
}

bool cfi_read_encoded(struct core_reader *r, uint8_t encoding, uintptr_t data_base,
		      uintptr_t *ret_value)
{
	unsigned form = encoding & CFI_PE_FORM_MASK;
	unsigned base = encoding & CFI_PE_BASE_MASK;
	uintptr_t at = (uintptr_t)r->at;
	uint64_t value;

	if ((form & CFI_PE_SIZE_MASK) > CFI_PE_UDATA8 || (encoding & CFI_PE_INDIRECT))
		return false;
	if (base != CFI_PE_ABSPTR && base != CFI_PE_PCREL &&
	    (base != CFI_PE_DATAREL || data_base == 0))
		return false;
	value = read_form(r, form);
	if (base == CFI_PE_PCREL)
		value += at;
	else if (base == CFI_PE_DATAREL)
		value += data_base;
	*ret_value = r->failed ? 0 : value;
	return true;
}

static struct core_reader reader_at(const struct cfi_module *m, uintptr_t at)
{
	const uint8_t *end = (const uint8_t *)m->end;

	return (struct core_reader){ .at = at >= m->start && at < m->end ? (const uint8_t *)at
									 : end,
				     .end = end };
}

/* Read the length of a record and cut @r off at its end. False: a terminator, or it failed. */
static bool enter_record(struct core_reader *r)
{
	uint8_t offset_bytes;
	uint64_t bytes = core_read_length(r, &offset_bytes);

	if (bytes == 0 || !core_reader_has(r, bytes))
		return false;
	r->end = r->at + bytes;
	return true;
}

/* The augmentation data whose letters are at @letters; @r is left at its end. */
static enum cfi_result read_augmentation(struct core_reader *r, const uint8_t *letters,
					 struct cfi_cie *cie)
{
	struct core_reader data = *r;
	uint64_t bytes = core_read_uleb(&data);
	uintptr_t skipped;

	if (data.failed || !core_reader_has(&data, bytes))
		return CFI_MISS_CORRUPT;
	data.end = data.at + bytes;
	r->at = data.end;
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->fde_encoding = core_read_byte(&data);
			break;
		case 'P': {
			uint8_t encoding = core_read_byte(&data);

			/* Only stepped over, so its base does not matter, except for padding. */
			if ((encoding & CFI_PE_BASE_MASK) == CFI_PE_ALIGNED ||
			    !cfi_read_encoded(&data, encoding & CFI_PE_FORM_MASK, 0, &skipped))
				return CFI_MISS_FORMAT;
			break;
		}
		case 'L':
			core_read_byte(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':
			break;
		default:
			return CFI_MISS_FORMAT;
		}
	}
	return data.failed ? CFI_MISS_CORRUPT : CFI_FOUND;
}

static enum cfi_result read_cie(const struct cfi_module *m, uintptr_t at, struct cfi_cie *cie)
{
	struct core_reader *r = &cie->program;
	const uint8_t *letters;
	uint8_t version;
	uint64_t ra;

	*r = reader_at(m, at);
	if (!enter_record(r) || core_read_number(r, 4) != 0)
		return CFI_MISS_CORRUPT;
	version = core_read_byte(r);
	if (version != 1 && version != 3 && version != 4)
		return CFI_MISS_FORMAT;
	letters = r->at;
	while (core_read_byte(r) != 0)
		if (r->at - letters > LETTERS_MAX)
			return CFI_MISS_FORMAT;
	if (version == 4 && (core_read_byte(r) != sizeof(void *) || core_read_byte(r) != 0))
		return CFI_MISS_FORMAT;
	cie->code_align = core_read_uleb(r);
	cie->data_align = core_read_sleb(r);
	ra = version == 1 ? core_read_byte(r) : core_read_uleb(r);
	if (r->failed)
		return CFI_MISS_CORRUPT;
	if (ra != CFI_REGISTER_RA)
		return CFI_MISS_FORMAT;
	cie->fde_encoding = CFI_PE_ABSPTR;
	cie->is_signal = false;
	cie->has_data = *letters == 'z';
	if (cie->has_data) {
		enum cfi_result result = read_augmentation(r, letters + 1, cie);

		if (result != CFI_FOUND)
			return result;
	} else if (*letters) {
		return CFI_MISS_FORMAT; /* "eh", of gcc 2: its layout is another */
	}
	return CFI_FOUND;
}

/* CFI_MISS_PC: it is a CIE. */
static enum cfi_result read_fde(const struct cfi_module *m, uintptr_t at, struct cfi_fde *fde)
{
	struct core_reader *r = &fde->program;
	enum cfi_result result;
	uintptr_t id_at;
	uint32_t id;

	*r = reader_at(m, at);
	if (!enter_record(r))
		return CFI_MISS_CORRUPT;
	id_at = (uintptr_t)r->at;
	id = (uint32_t)core_read_number(r, 4);
	if (r->failed)
		return CFI_MISS_CORRUPT;
	if (id == 0)
		return CFI_MISS_PC;
	result = read_cie(m, id_at - id, &fde->cie);
	if (result != CFI_FOUND)
		return result;
	if (!cfi_read_encoded(r, fde->cie.fde_encoding, 0, &fde->pc_start) ||
	    !cfi_read_encoded(r, fde->cie.fde_encoding & CFI_PE_SIZE_MASK, 0, &fde->pc_bytes))
		return CFI_MISS_FORMAT;
	if (fde->cie.has_data)
		core_read_skip(r, core_read_uleb(r));
	if (r->failed)
		return CFI_MISS_CORRUPT;
	return CFI_FOUND;
}

static bool fde_covers(const struct cfi_fde *fde, uintptr_t address)
{
	return address - fde->pc_start < fde->pc_bytes;
}

static bool read_header(const struct cfi_module *m, struct header *h)
{
	struct core_reader r = reader_at(m, (uintptr_t)m->eh_frame_hdr);
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	uintptr_t entries = 0;

	*h = (struct header){ .base = (uintptr_t)r.at };
	version = core_read_byte(&r);
	frame_encoding = core_read_byte(&r);
	count_encoding = core_read_byte(&r);
	table_encoding = core_read_byte(&r);
	if (r.failed || version != HEADER_VERSION)
		return false;
	if (frame_encoding != CFI_PE_OMIT &&
	    !cfi_read_encoded(&r, frame_encoding, h->base, &h->eh_frame))
		return false;
	if (count_encoding == CFI_PE_OMIT || table_encoding == CFI_PE_OMIT)
		return !r.failed;
	if (!cfi_read_encoded(&r, count_encoding, h->base, &entries))
		return false;
	if (table_encoding == (CFI_PE_DATAREL | CFI_PE_SIGNED | CFI_PE_UDATA8))
		h->wide = true;
	else if (table_encoding != (CFI_PE_DATAREL | CFI_PE_SIGNED | CFI_PE_UDATA4))
		return !r.failed;
	if (r.failed || entries > core_reader_left(&r) / (h->wide ? 16 : 8))
		return false;
	h->table = r.at;
	h->entries = entries;
	return true;
}

/* One half of a table entry: even @index a function's start, odd its FDE. */
static uintptr_t table_value(const struct header *h, uint64_t index)
{
	if (h->wide)
		return h->base + core_load(h->table + index * 8, 8);
	return h->base + (uint64_t)(int32_t)core_load(h->table + index * 4, 4);
}

/* Where the record of @address is by the table; 0: in none. */
static uintptr_t search_table(const struct header *h, uintptr_t address)
{
	uint64_t low = 0, high = h->entries;

	/* Everything below low starts at or before the address, everything from high on after. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table_value(h, middle * 2) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? table_value(h, (low - 1) * 2 + 1) : 0;
}

static enum cfi_result read_covering(const struct cfi_module *m, uintptr_t at, uintptr_t address,
				     struct cfi_fde *fde)
{
	enum cfi_result result = at ? read_fde(m, at, fde) : CFI_MISS_PC;

	if (at && result == CFI_MISS_PC)
		return CFI_MISS_CORRUPT;
	if (result == CFI_FOUND && !fde_covers(fde, address))
		return CFI_MISS_PC;
	return result;
}

static enum cfi_result scan_records(const struct cfi_module *m, uintptr_t at, uintptr_t address,
				    struct cfi_fde *fde)
{
	for (int i = 0; i < SCAN_RECORDS_MAX; i++) {
		struct core_reader r = reader_at(m, at);

		if (!enter_record(&r))
			return r.failed ? CFI_MISS_CORRUPT : CFI_MISS_PC;
		if (read_fde(m, at, fde) == CFI_FOUND && fde_covers(fde, address))
			return CFI_FOUND;
		at = (uintptr_t)r.end;
	}
	return CFI_MISS_LIMIT;
}

/*
 * Where to look: at the record that the table names, *@ret_scan false, or at all from there on.
 * Apart: what it needs is not to lie on the stack while the record is read.
 */
static __attribute__((noinline)) bool locate(const struct cfi_module *m, uintptr_t address,
					     uintptr_t *ret_at, bool *ret_scan)
{
	struct header h;

	if (!m->eh_frame_hdr || m->start >= m->end || !read_header(m, &h))
		return false;
	*ret_scan = !h.table;
	*ret_at = h.table ? search_table(&h, address) : h.eh_frame;
	return h.table || h.eh_frame;
}

enum cfi_result cfi_fde_find(const struct cfi_module *m, uintptr_t address, struct cfi_fde *ret_fde)
{
	uintptr_t at;
	bool scan;

	if (!locate(m, address, &at, &scan))
		return CFI_MISS_TABLE;
	return scan ? scan_records(m, at, address, ret_fde)
		    : read_covering(m, at, address, ret_fde);
}
