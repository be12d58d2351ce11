/* The generated tables, and how they are looked up. */
#include "baseline/parts.h"
#include "cpu/model.h"
#include "mr_stencil_numbers.h"
#include "mr_stencils.h"

#include <string.h>

#define NO_SPARE 255

const struct mr_glue mr_glue = {mr_enter_code, mr_leave_code, sizeof mr_enter_code, sizeof mr_leave_code};

/* The generated rows have none that MIPS16e code has, too. */
static const struct mr_row jalx = {.flow = MR_JUMP, .link = 31, .spare = NO_SPARE, .entry = MR_NO_ENTRY, .taken = MR_NO_ENTRY};

static bool is_missing(const struct mr_row *row)
{
    return (row->flags & MR_OF_DSP && mr_cpu_lacks(MR_CPU_DSP)) || (row->flags & MR_OF_DSP2 && mr_cpu_lacks(MR_CPU_DSP2));
}

const struct mr_row *mr_row_of(uint32_t word)
{
    if (mr_is_jalx(word))
        return mr_cpu_lacks(MR_CPU_MIPS16) ? NULL : &jalx;
    for (const uint16_t *number = mr_bucket_rows + mr_bucket_starts[word >> 26 << 6 | (word & 63)]; *number != 0; number++) {
        const struct mr_row *row = &mr_rows[*number - 1];
        if ((word & row->mask) != row->value)
            continue;
        if (is_missing(row))
            return NULL;
        return row->spare == NO_SPARE || (int32_t)mr_hole_value(row->spare, word, 0, 0) >= 0 ? row : NULL;
    }
    return NULL;
}

const struct mr_entry_point *mr_entry_point(unsigned number)
{
    return &mr_entries[number];
}

static unsigned class_among(const uint8_t *pins, unsigned pin_count, unsigned number)
{
    for (unsigned pin = 0; pin < pin_count; pin++)
        if (pins[pin] == number)
            return pin;
    return MR_CLASS_MEMORY;
}

unsigned mr_gpr_class(unsigned number)
{
    static const uint8_t pins[] = MR_PINS;
    return number == 0 ? MR_CLASS_ZERO : class_among(pins, MR_PIN_COUNT, number);
}

unsigned mr_float_class(unsigned pair)
{
    static const uint8_t pins[] = MR_FLOAT_PINS;
    return class_among(pins, MR_FLOAT_PIN_COUNT, pair);
}

static unsigned ordinal(const struct mr_choice *choice, unsigned class_)
{
    return mr_class_ordinals[choice->classes][class_];
}

bool mr_class_fits(const struct mr_choice *choice, unsigned class_)
{
    return ordinal(choice, class_) < choice->class_count;
}

const struct mr_stencil *mr_stencil(const struct mr_entry_point *entry, unsigned set, const uint8_t *classes)
{
    uint32_t number = 0;
    for (unsigned i = 0; i < entry->choice_count; i++)
        number = number * entry->choices[i].class_count + ordinal(&entry->choices[i], classes[i]);
    uint16_t stencil = mr_combinations[entry->first + set * entry->per_set + number];
    return stencil == MR_NO_STENCIL ? NULL : &mr_stencils[stencil];
}

const struct mr_hole *mr_stencil_holes(const struct mr_stencil *stencil)
{
    return &mr_holes[stencil->first_hole];
}

void mr_stencil_copy(const struct mr_stencil *stencil, uint8_t *to, uint32_t word, uint32_t pc, uint32_t fr)
{
    memcpy(to, mr_stencil_code + stencil->code, stencil->size_bytes);
    for (unsigned i = 0; i < stencil->hole_count; i++) {
        const struct mr_hole *hole = &mr_holes[stencil->first_hole + i];
        if (hole->value < MR_EXIT_COUNT)
            continue;
        uint32_t number = mr_hole_value(hole->value, word, pc, fr);
        memcpy(to + hole->offset, &number, hole->size_bytes); /* of a little-endian host */
    }
}
