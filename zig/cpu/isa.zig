//! Which of the kernels' instruction sets this processor runs, and the table of each.

const std = @import("std");
const builtin = @import("builtin");
const build_options = @import("build_options");
const abi = @import("../kernels/abi.zig");
const ops = @import("../ops.zig");

pub const KernelTable = [ops.table.len]abi.Kernel;

pub const names = build_options.variants;

const tables: [names.len]*const KernelTable = blk: {
    var list: [names.len]*const KernelTable = undefined;
    for (names, 0..) |name, i| {
        list[i] = @extern(*const KernelTable, .{ .name = "leaven_kernels_" ++ name });
    }
    break :blk list;
};

/// Index into `names` of the kernels in use.
var chosen: std.atomic.Value(u32) = .init(std.math.maxInt(u32));

pub fn kernels() *const KernelTable {
    return tables[current()];
}

pub fn current() u32 {
    const index = chosen.load(.monotonic);
    if (index < names.len) return index;
    chosen.store(best(), .monotonic);
    return best();
}

/// Overrides the choice, for tests; false when the name is unknown or the processor lacks it.
pub fn choose(name: []const u8) bool {
    for (names, 0..) |known, index| {
        if (!std.mem.eql(u8, known, name) or index > best()) continue;
        chosen.store(@intCast(index), .monotonic);
        return true;
    }
    return false;
}

/// The last, and so best, variant that this processor has.
pub fn best() u32 {
    return switch (builtin.cpu.arch) {
        .x86_64 => bestX86(),
        .aarch64 => bestArm(),
        else => 0,
    };
}

const Registers = struct { eax: u32, ebx: u32, ecx: u32, edx: u32 };

fn cpuid(leaf: u32, subleaf: u32) Registers {
    var eax: u32 = undefined;
    var ebx: u32 = undefined;
    var ecx: u32 = undefined;
    var edx: u32 = undefined;
    asm volatile ("cpuid"
        : [eax] "={eax}" (eax),
          [ebx] "={ebx}" (ebx),
          [ecx] "={ecx}" (ecx),
          [edx] "={edx}" (edx),
        : [leaf] "{eax}" (leaf),
          [subleaf] "{ecx}" (subleaf),
    );
    return .{ .eax = eax, .ebx = ebx, .ecx = ecx, .edx = edx };
}

/// The register state that the operating system saves, XCR0.
fn savedState() u32 {
    return asm volatile ("xgetbv"
        : [low] "={eax}" (-> u32),
        : [index] "{ecx}" (@as(u32, 0)),
        : .{ .edx = true });
}

fn has(register: u32, bits: []const u5) bool {
    for (bits) |bit| if ((register >> bit) & 1 == 0) return false;
    return true;
}

/// Bits as in Intel's Software Developer's Manual, volume 2A, CPUID.
fn bestX86() u32 {
    const osxsave = 27;
    const one = cpuid(1, 0);
    if (!has(one.ecx, &.{osxsave}) or cpuid(0, 0).eax < 7) return 0;
    const state = savedState();
    const seven = cpuid(7, 0);
    const ymm = state & 0x6 == 0x6;
    const zmm = state & 0xe6 == 0xe6;
    // FMA, AVX, F16C; BMI1, AVX2, BMI2.
    const v3 = ymm and has(one.ecx, &.{ 12, 28, 29 }) and has(seven.ebx, &.{ 3, 5, 8 });
    // AVX-512 F, DQ, CD, BW, VL.
    const v4 = v3 and zmm and has(seven.ebx, &.{ 16, 17, 28, 30, 31 });
    // VBMI, VNNI; BF16.
    const vnni = v4 and has(seven.ecx, &.{ 1, 11 }) and has(cpuid(7, 1).eax, &.{5});
    return @as(u32, @intFromBool(v3)) + @intFromBool(v4) + @intFromBool(vnni);
}

/// The variant dotprod needs half-precision arithmetic as well, and i8mm needs bf16.
fn bestArm() u32 {
    switch (builtin.os.tag) {
        .linux => {
            // Bits of AT_HWCAP and AT_HWCAP2: arch/arm64/include/uapi/asm/hwcap.h of Linux.
            const first = std.c.getauxval(16);
            const second = std.c.getauxval(26);
            const dotprod = isSet(first, &.{ 10, 20 }); // ASIMDHP, ASIMDDP
            const i8mm = dotprod and isSet(second, &.{ 13, 14 }); // I8MM, BF16
            return @as(u32, @intFromBool(dotprod)) + @intFromBool(i8mm);
        },
        .macos => {
            // Every Apple processor that runs arm64 macOS has the dot product.
            const i8mm = darwinHas("hw.optional.arm.FEAT_I8MM") and
                darwinHas("hw.optional.arm.FEAT_BF16");
            return 1 + @as(u32, @intFromBool(i8mm));
        },
        // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE. Every such processor has half precision.
        .windows => return @intFromBool(windows.IsProcessorFeaturePresent(43) != 0),
        else => return 0,
    }
}

const windows = struct {
    extern "kernel32" fn IsProcessorFeaturePresent(feature: u32) callconv(.winapi) c_int;
};

fn isSet(word: u64, bits: []const u6) bool {
    for (bits) |bit| if ((word >> bit) & 1 == 0) return false;
    return true;
}

fn darwinHas(name: [*:0]const u8) bool {
    var value: u32 = 0;
    var size: usize = @sizeOf(u32);
    return std.c.sysctlbyname(name, &value, &size, null, 0) == 0 and value != 0;
}

test "the best variant can be chosen and an unknown one cannot" {
    defer _ = choose(names[best()]);
    try std.testing.expect(choose(names[0]));
    try std.testing.expectEqual(0, current());
    try std.testing.expect(!choose("mmx"));
}
