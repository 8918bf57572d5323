/* A profile: measured times of passes, found by operator, sizes and device. */
#include "profile/profile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

_Static_assert(ATTR_COUNT <= 64, "attributes are bits of a set");

/* Making -------------------------------------------------------------------------------- */

/* The attributes that a row's axes name: "kP=out iI=kernel.0 gI=heads/kv_heads". */
static uint64_t told_by_extents(const char *axes)
{
    uint64_t told = 0;
    while ((axes = strpbrk(axes, "=/"))) {
        char name[24] = "";
        size_t n = strcspn(++axes, "./ ");
        assert(n < sizeof name);
        memcpy(name, axes, n);
        assert(hp_attr_find(name) < ATTR_COUNT);
        told |= (uint64_t)1 << hp_attr_find(name);
    }
    return told;
}

struct hypar_profile *hypar_profile_new(void)
{
    struct arena arena = { 0 };
    struct hypar_profile *profile = NEW(&arena, struct hypar_profile, 1);
    profile->arena = arena;
    for (int k = 0; k < OP_KIND_COUNT; k++)
        profile->told[k] = told_by_extents(hp_op[k].axes);
    unsigned version = hypar_version();
    profile->made_by = hp_arena_printf(&profile->arena, "hypar %u.%u.%u", version >> 16 & 255,
                                       version >> 8 & 255, version & 255);
    return profile;
}

void hypar_profile_free(struct hypar_profile *profile)
{
    if (!profile)
        return;
    hp_arena_free(&profile->arena);
}

void hypar_profile_set_made_by(struct hypar_profile *profile, const char *text)
{
    assert(*text && !hp_has_control(text));
    profile->made_by = hp_arena_strdup(&profile->arena, text);
}

/* Devices ------------------------------------------------------------------------------- */

/* Profiles have few devices: comparing names is faster than hashing. */
int hp_profile_find_device(const struct hypar_profile *profile, const char *name)
{
    enum { FEW = 4 };
    for (int d = 0; d < profile->n_devices && d < FEW; d++)
        if (strcmp(profile->device[d].name, name) == 0)
            return d;
    if (profile->n_devices <= FEW)
        return -1;
    return hp_table_get(&profile->device_names, name, strlen(name));
}

int hp_profile_device(struct hypar_profile *profile, const char *name)
{
    int device = hp_profile_find_device(profile, name);
    if (device >= 0)
        return device;
    name = hp_arena_strdup(&profile->arena, name);
    profile->device = GROW(&profile->arena, struct profile_device, profile->device,
                           profile->n_devices, &profile->device_capacity);
    profile->device[profile->n_devices] = (struct profile_device){ .name = name };
    return hp_table_put(&profile->device_names, &profile->arena, name, strlen(name),
                        profile->n_devices++);
}

void hypar_profile_set_efficiency(struct hypar_profile *profile, const char *device,
                                  double efficiency)
{
    assert(efficiency > 0 && efficiency <= 1);
    int d = hp_profile_device(profile, device); /* may move the list */
    profile->device[d].efficiency = efficiency;
}

double hp_profile_efficiency(const struct hypar_profile *profile, const char *device)
{
    int d = hp_profile_find_device(profile, device);
    return d < 0 ? 0 : profile->device[d].efficiency;
}

/* What determines the time -------------------------------------------------------------- */

static uint64_t mixed(uint64_t what, uint64_t value)
{
    uint64_t x = value + what * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    value += 0.0; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Does an extent determine this attribute? */
static bool is_told(const struct hypar_profile *profile, enum op_kind kind, enum attr_id id)
{
    return profile->told[kind] >> id & 1;
}

/* Sums of independent terms: the order of axes is irrelevant, and terms can be computed in
 * parallel. First everything except operands and attributes, ... */
static uint64_t hash_itself(const struct measured *m)
{
    enum { ITSELF, WITH = 2 };
    uint64_t hash = mixed(ITSELF, (uint64_t)m->device << 32 | (uint64_t)m->kind << 16 |
                                      (uint64_t)m->precision << 8 | (uint64_t)m->pass);
    return m->with ? hash + mixed(WITH, m->with) : hash;
}

static uint64_t hash_part(const struct measured *m)
{
    enum { AXIS = 256 };
    uint64_t hash = hash_itself(m);
    for (int a = 0; a < m->n_axes; a++)
        hash += mixed(AXIS + (uint64_t)m->axis[a].name, (uint64_t)m->axis[a].extent);
    return hash;
}

/* ... then these too. */
static uint64_t hash_rest(const struct hypar_profile *profile, const struct measured *m)
{
    enum { OPERANDS = 1, OPERAND = 512, ATTR = 1024 };
    uint64_t hash = mixed(OPERANDS, (uint64_t)(m->n_operands + 1));
    for (int o = 0; o < m->n_operands; o++)
        hash += mixed(OPERAND + (uint64_t)o,
                      (uint64_t)m->operand[o].name << 32 | m->operand[o].axes);
    for (int a = 0; a < m->attrs->n; a++) {
        const struct attr *attr = &m->attrs->attr[a];
        for (int i = 0; i < attr->n && !is_told(profile, m->kind, attr->id); i++)
            hash += mixed(ATTR + (uint64_t)attr->id * ATTR_MAX_VALUES + (uint64_t)i,
                          bits_of(attr->v[i]));
    }
    return hash;
}

static bool same_axes(const struct measured *m, const struct measured *k)
{
    if (m->n_axes != k->n_axes)
        return false;
    for (int a = 0; a < m->n_axes; a++) {
        int b = 0;
        while (b < k->n_axes && k->axis[b].name != m->axis[a].name)
            b++;
        if (b == k->n_axes || k->axis[b].extent != m->axis[a].extent)
            return false;
    }
    return true;
}

static bool same_operands(const struct measured *m, const struct measured *k)
{
    if (m->n_operands != k->n_operands)
        return false;
    for (int o = 0; o < m->n_operands; o++)
        if (m->operand[o].name != k->operand[o].name ||
            m->operand[o].axes != k->operand[o].axes)
            return false;
    return true;
}

/* The next attribute from *a on that the extents do not determine, or NULL. */
static const struct attr *next_untold(const struct hypar_profile *profile,
                                      const struct measured *m, int *a)
{
    while (*a < m->attrs->n) {
        const struct attr *attr = &m->attrs->attr[(*a)++];
        if (!is_told(profile, m->kind, attr->id))
            return attr;
    }
    return NULL;
}

static bool same_attrs(const struct hypar_profile *profile, const struct measured *m,
                       const struct measured *k)
{
    for (int a = 0, b = 0;;) {
        const struct attr *p = next_untold(profile, m, &a), *q = next_untold(profile, k, &b);
        if (!p || !q)
            return !p && !q;
        if (p->id != q->id || p->n != q->n)
            return false;
        for (int i = 0; i < p->n; i++)
            if (p->v[i] != q->v[i])
                return false;
    }
}

static bool same_letters(const struct measured *m, const struct measured *k)
{
    uint32_t mine = 0, other = 0;
    for (int a = 0; a < m->n_axes; a++)
        mine |= (uint32_t)1 << (m->axis[a].name - 'a');
    for (int a = 0; a < k->n_axes; a++)
        other |= (uint32_t)1 << (k->axis[a].name - 'a');
    return mine == other;
}

bool hp_same_family(const struct hypar_profile *profile, const struct measured *m,
                    const struct measured *k)
{
    return m->device == k->device && m->precision == k->precision && m->kind == k->kind &&
           m->pass == k->pass && m->with == k->with && same_letters(m, k) &&
           same_operands(m, k) && same_attrs(profile, m, k);
}

static bool same(const struct hypar_profile *profile, const struct measured *m,
                 const struct measured *k)
{
    return same_axes(m, k) && hp_same_family(profile, m, k);
}

struct measured *hp_measured_find(const struct hypar_profile *profile, struct measured *like)
{
    uint64_t rest = hash_rest(profile, like);
    like->part_hash = hash_part(like);
    like->hash = like->part_hash + rest;
    like->family = hash_itself(like) + rest;
    int i = hp_table_get(&profile->hashes, &like->hash, sizeof like->hash);
    while (i >= 0 && !same(profile, profile->pass[i], like))
        i = profile->pass[i]->next;
    return i < 0 ? NULL : profile->pass[i];
}

static void note_joint(struct hypar_profile *profile, const struct measured *m)
{
    for (int i = 0; i < profile->n_joint; i++)
        if (profile->joint[i].kind == m->kind && profile->joint[i].pass == m->pass &&
            profile->joint[i].with == m->with)
            return;
    profile->joint = GROW(&profile->arena, struct joint_passes, profile->joint,
                          profile->n_joint, &profile->joint_capacity);
    profile->joint[profile->n_joint++] = (struct joint_passes){ m->kind, m->pass, m->with };
}

void hp_measured_insert(struct hypar_profile *profile, const struct measured *pass)
{
    struct arena *arena = &profile->arena;
    struct measured *kept = NEW(arena, struct measured, 1);
    *kept = *pass;
    kept->next = kept->next_of_family = -1;
    int first = hp_table_put(&profile->hashes, arena, &kept->hash, sizeof kept->hash,
                             profile->n_passes);
    if (first != profile->n_passes) { /* the second of its list */
        kept->next = profile->pass[first]->next;
        profile->pass[first]->next = profile->n_passes;
    }
    first = hp_table_put(&profile->families, arena, &kept->family, sizeof kept->family,
                         profile->n_passes);
    if (first != profile->n_passes) {
        kept->next_of_family = profile->pass[first]->next_of_family;
        profile->pass[first]->next_of_family = profile->n_passes;
    }
    if (kept->with)
        note_joint(profile, kept);
    hp_table_put(&profile->part_hashes, arena, &kept->part_hash, sizeof kept->part_hash, 0);
    profile->pass = GROW(arena, struct measured *, profile->pass, profile->n_passes,
                         &profile->pass_capacity);
    profile->pass[profile->n_passes++] = kept;
    profile->n_of[kept->kind]++;
    profile->any_operands |= kept->n_operands < 0;
}

/* From a nest --------------------------------------------------------------------------- */

/* The operands that are present: those that some pass reads. */
static operand_set given_operands(const struct nest *nest)
{
    operand_set given = 0;
    for (int p = 0; p < nest->n_passes; p++)
        given |= nest->pass[p].reads;
    return given;
}

static void describe_part(const struct measured_pass *at, int device, struct probe *out)
{
    const struct nest *nest = at->nest;
    int n = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role != HYPAR_COPY)
            out->axis[n++] =
                (struct measured_axis){ hp_letter_by_rank(nest, a), at->extent[a] };
    out->pass = (struct measured){ .device = device,
                                   .precision = at->precision,
                                   .kind = nest->kind,
                                   .pass = at->pass,
                                   .with = at->with,
                                   .n_axes = n,
                                   .axis = out->axis,
                                   .operand = out->operand,
                                   .attrs = nest->attrs };
}

static void describe_operands(const struct nest *nest, struct probe *out)
{
    operand_set given = given_operands(nest);
    for (int o = 0; o < nest->n_inputs; o++) {
        if (!(given >> o & 1))
            continue;
        struct measured_operand operand = { .name = nest->operand[o].name[0] };
        for (int a = 0; nest->operand[o].axes >> a; a++)
            if (nest->operand[o].axes >> a & 1)
                operand.axes |= (uint32_t)1 << (hp_letter_by_rank(nest, a) - 'a');
        out->operand[out->pass.n_operands++] = operand;
    }
}

void hp_profile_probe(const struct measured_pass *at, int device, struct probe *out)
{
    describe_part(at, device, out);
    describe_operands(at->nest, out);
}

/* Most look-ups fail, and most failures show in the extents alone. */
double hp_profile_find(const struct hypar_profile *profile, const struct measured_pass *at)
{
    if (!profile || !profile->n_of[at->nest->kind])
        return 0;
    int device = hp_profile_find_device(profile, at->device);
    if (device < 0)
        return 0;
    struct probe probe;
    describe_part(at, device, &probe);
    uint64_t part = hash_part(&probe.pass);
    if (hp_table_get(&profile->part_hashes, &part, sizeof part) < 0)
        return 0;
    describe_operands(at->nest, &probe);
    const struct measured *found = hp_measured_find(profile, &probe.pass);
    if (!found && profile->any_operands) {
        probe.pass.n_operands = -1;
        found = hp_measured_find(profile, &probe.pass);
    }
    return found ? found->seconds : 0;
}

/* Insert a copy of a pass with everything that it points to. */
static void insert_copy(struct hypar_profile *profile, const struct measured *pass)
{
    struct measured own = *pass;
    struct measured_axis *axis = NEW(&profile->arena, struct measured_axis, own.n_axes);
    struct measured_operand *operand =
        NEW(&profile->arena, struct measured_operand, own.n_operands);
    for (int a = 0; a < own.n_axes; a++)
        axis[a] = pass->axis[a];
    for (int o = 0; o < own.n_operands; o++)
        operand[o] = pass->operand[o];
    own.axis = axis;
    own.operand = operand;
    own.attrs = hp_attrs_copy(&profile->arena, pass->attrs);
    hp_measured_insert(profile, &own);
}

enum hypar_status hp_profile_add(struct hypar_profile *profile, const struct measured_pass *at,
                                 double seconds, struct hypar_error *err)
{
    if (!(seconds > 0) || !isfinite(seconds))
        return hp_fail(err, HYPAR_INVALID, "%g seconds, expected more than 0", seconds);
    if (!*at->device || hp_has_control(at->device))
        return hp_fail(err, HYPAR_INVALID, "device '%.40s', expected a name", at->device);
    if (hp_op[at->nest->kind].flags & ROW_OPAQUE)
        return hp_fail(err, HYPAR_UNSUPPORTED, "an opaque operator has no kernel to measure");

    struct probe probe;
    hp_profile_probe(at, hp_profile_device(profile, at->device), &probe);
    struct measured *known = hp_measured_find(profile, &probe.pass);
    if (known) {
        known->seconds = seconds;
        return HYPAR_OK;
    }
    if (profile->n_passes == HP_MAX_MEASURED)
        return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d passes", HP_MAX_MEASURED);
    probe.pass.seconds = seconds;
    insert_copy(profile, &probe.pass);
    return HYPAR_OK;
}

void hp_profile_set_spread(struct hypar_profile *profile, const struct measured_pass *at,
                           double spread)
{
    struct probe probe;
    hp_profile_probe(at, hp_profile_device(profile, at->device), &probe);
    struct measured *known = hp_measured_find(profile, &probe.pass);
    if (known)
        known->spread = spread;
}
