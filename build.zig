//! Builds the native library, its kernels once per instruction set, the generated copies of the
//! op tables, and the Zig tests.
//!
//!   zig build              the library, into zig-out
//!   zig build gen          rewrite the generated files
//!   zig build check-gen    fail when they are stale
//!   zig build test         Zig tests, kernels on every instruction set this machine runs; those of
//!                          another processor with -Dtarget=aarch64-linux-musl -fqemu
//!   zig build test-core    those of everything else
//!   zig build cross        the library for every platform, into zig-out/<platform>
//!   zig build cross-NAME   for one of them

const std = @import("std");
const Feature = std.Target.x86.Feature;
const ArmFeature = std.Target.aarch64.Feature;

const X86Variant = struct {
    name: []const u8,
    model: *const std.Target.Cpu.Model,
    add: []const Feature = &.{},
    sub: []const Feature = &.{},
};
const ArmVariant = struct { name: []const u8, add: []const ArmFeature = &.{} };

/// Weakest first; zig/cpu/isa.zig chooses the last one that the processor has.
const x86_variants = [_]X86Variant{
    .{ .name = "v2", .model = &std.Target.x86.cpu.x86_64_v2 },
    .{ .name = "v3", .model = &std.Target.x86.cpu.x86_64_v3 },
    // Without prefer_256_bit LLVM would split every 512-bit vector in two.
    .{ .name = "v4", .model = &std.Target.x86.cpu.x86_64_v4, .sub = &.{.prefer_256_bit} },
    .{
        .name = "v4_vnni",
        .model = &std.Target.x86.cpu.x86_64_v4,
        .add = &.{ .avx512vnni, .avx512bf16, .avx512vbmi },
        .sub = &.{.prefer_256_bit},
    },
};
const arm_variants = [_]ArmVariant{
    .{ .name = "neon" },
    .{ .name = "dotprod", .add = &.{ .dotprod, .fullfp16 } },
    .{ .name = "i8mm", .add = &.{ .dotprod, .fullfp16, .i8mm, .bf16 } },
};

const Variant = struct { name: []const u8, target: std.Build.ResolvedTarget };

/// Where leaven runs, by the names of src/native/platforms.ts, and the oldest system for each:
/// glibc 2.17 is that of 2012 (CentOS 7), macOS 11 the first on arm64.
const platforms = [_]struct { name: []const u8, triple: []const u8 }{
    .{ .name = "linux-x64", .triple = "x86_64-linux-gnu.2.17" },
    .{ .name = "linux-x64-musl", .triple = "x86_64-linux-musl" },
    .{ .name = "linux-arm64", .triple = "aarch64-linux-gnu.2.17" },
    .{ .name = "linux-arm64-musl", .triple = "aarch64-linux-musl" },
    .{ .name = "darwin-x64", .triple = "x86_64-macos.11.0" },
    .{ .name = "darwin-arm64", .triple = "aarch64-macos.11.0" },
    .{ .name = "windows-x64", .triple = "x86_64-windows.win10-gnu" },
    .{ .name = "windows-arm64", .triple = "aarch64-windows.win10-gnu" },
};

const Settings = struct { strip: bool, safe_kernels: bool };

pub fn build(b: *std.Build) void {
    // The glue is built for the baseline processor, never for this machine's own.
    const target = b.standardTargetOptions(.{ .default_target = .{ .cpu_model = .baseline } });
    const settings: Settings = .{
        .strip = b.option(
            bool,
            "strip",
            "leave out debug information (default: yes)",
        ) orelse true,
        .safe_kernels = b.option(
            bool,
            "safe-kernels",
            "build the kernels with safety checks, for fuzzing (default: no)",
        ) orelse false,
    };
    const kernels = addKernels(b, target, settings);
    b.installArtifact(addLibrary(b, target, kernels, settings));
    addCross(b, settings);
    addGenerator(b);
    addTests(b, target);
}

fn addLibrary(
    b: *std.Build,
    target: std.Build.ResolvedTarget,
    kernels: []const *std.Build.Step.Compile,
    settings: Settings,
) *std.Build.Step.Compile {
    const core = b.createModule(.{
        .root_source_file = b.path("zig/lib.zig"),
        .target = target,
        .optimize = .ReleaseSafe,
        .strip = settings.strip,
        .pic = true,
        .link_libc = target.result.os.tag != .windows,
        .unwind_tables = .none,
        .imports = &.{.{ .name = "build_options", .module = optionsModule(b, target) }},
    });
    for (kernels) |object| core.addObject(object);
    return b.addLibrary(.{ .name = "leaven", .linkage = .dynamic, .root_module = core });
}

fn optionsModule(b: *std.Build, target: std.Build.ResolvedTarget) *std.Build.Module {
    const variants = listVariants(b, target);
    const names = b.allocator.alloc([]const u8, variants.len) catch @panic("OOM");
    for (variants, names) |v, *name| name.* = v.name;
    const options = b.addOptions();
    options.addOption([]const []const u8, "variants", names);
    options.addOption([]const u8, "version", "0.1.0");
    return options.createModule();
}

/// The library of every platform. Kernels know no C library, so those of Linux serve both.
fn addCross(b: *std.Build, settings: Settings) void {
    const all = b.step("cross", "The library for every platform");
    var last: ?struct { std.Target.Os.Tag, std.Target.Cpu.Arch } = null;
    var kernels: []const *std.Build.Step.Compile = &.{};
    for (platforms) |platform| {
        const query = std.Target.Query.parse(.{
            .arch_os_abi = platform.triple,
            .cpu_features = "baseline",
        }) catch unreachable;
        const target = b.resolveTargetQuery(query);
        const system = .{ target.result.os.tag, target.result.cpu.arch };
        if (last == null or last.?[0] != system[0] or last.?[1] != system[1]) {
            kernels = addKernels(b, target, settings);
        }
        last = .{ system[0], system[1] };
        const library = addLibrary(b, target, kernels, settings);
        const folder: std.Build.InstallDir = .{ .custom = platform.name };
        const install = b.addInstallArtifact(library, .{
            .dest_dir = .{ .override = folder },
            .implib_dir = .disabled,
            .pdb_dir = .disabled,
        });
        const name = b.fmt("cross-{s}", .{platform.name});
        b.step(name, b.fmt("The library for {s}", .{platform.name})).dependOn(&install.step);
        all.dependOn(&install.step);
    }
}

/// Compiles the kernels once per instruction set. They are the same for every C library and version
/// of Linux, so their target names none: what one build has compiled another finds in the cache.
fn addKernels(
    b: *std.Build,
    target: std.Build.ResolvedTarget,
    settings: Settings,
) []const *std.Build.Step.Compile {
    const variants = listVariants(
        b,
        if (target.result.os.tag != .linux) target else b.resolveTargetQuery(.{
            .cpu_arch = target.result.cpu.arch,
            .os_tag = .linux,
            .abi = .none,
        }),
    );
    const objects = b.allocator.alloc(*std.Build.Step.Compile, variants.len) catch @panic("OOM");
    const safe = settings.safe_kernels;
    const optimize: std.builtin.OptimizeMode = if (safe) .ReleaseSafe else .ReleaseFast;
    for (variants, objects) |v, *object| {
        object.* = b.addObject(.{
            .name = b.fmt("kernels_{s}", .{v.name}),
            .root_module = kernelModule(b, v, optimize, settings.strip),
        });
    }
    return objects;
}

fn listVariants(b: *std.Build, base: std.Build.ResolvedTarget) []const Variant {
    var list: std.ArrayList(Variant) = .empty;
    switch (base.result.cpu.arch) {
        .x86_64 => inline for (x86_variants) |v| {
            var query = base.query;
            query.cpu_model = .{ .explicit = v.model };
            for (v.add) |f| query.cpu_features_add.addFeature(@intFromEnum(f));
            for (v.sub) |f| query.cpu_features_sub.addFeature(@intFromEnum(f));
            list.append(b.allocator, .{
                .name = v.name,
                .target = b.resolveTargetQuery(query),
            }) catch @panic("OOM");
        },
        .aarch64 => inline for (arm_variants) |v| {
            var query = base.query;
            query.cpu_model = .baseline;
            for (v.add) |f| query.cpu_features_add.addFeature(@intFromEnum(f));
            list.append(b.allocator, .{
                .name = v.name,
                .target = b.resolveTargetQuery(query),
            }) catch @panic("OOM");
        },
        else => {},
    }
    return list.items;
}

fn kernelModule(
    b: *std.Build,
    v: Variant,
    optimize: std.builtin.OptimizeMode,
    strip: bool,
) *std.Build.Module {
    const variant = b.addOptions();
    variant.addOption([]const u8, "name", v.name);
    return b.createModule(.{
        .root_source_file = b.path("zig/kernels.zig"),
        .target = v.target,
        .optimize = optimize,
        .strip = strip,
        .pic = true,
        .unwind_tables = .none,
        .imports = &.{.{ .name = "variant", .module = variant.createModule() }},
    });
}

fn addGenerator(b: *std.Build) void {
    const generator = b.addExecutable(.{
        .name = "gen",
        .root_module = b.createModule(.{
            .root_source_file = b.path("zig/gen.zig"),
            .target = b.graph.host,
            .optimize = .Debug,
        }),
    });
    const update = b.addUpdateSourceFiles();
    const check = b.step("check-gen", "Fail when a generated file is stale");
    inline for (.{
        .{ "ts", "src/native/ops.gen.ts" },
        .{ "c", "zig/ops.gen.h" },
    }) |pair| {
        const run = b.addRunArtifact(generator);
        run.addArg(pair[0]);
        const text = run.captureStdOut(.{});
        update.addCopyFileToSource(text, pair[1]);
        const compare = b.addSystemCommand(&.{ "cmp", "--" });
        compare.addFileArg(text);
        compare.addFileArg(b.path(pair[1]));
        compare.expectExitCode(0);
        check.dependOn(&compare.step);
    }
    b.step("gen", "Rewrite the generated files").dependOn(&update.step);
}

fn addTests(b: *std.Build, target: std.Build.ResolvedTarget) void {
    const step = b.step("test", "Run the Zig tests");
    const filters = b.option([]const []const u8, "test-filter", "run only these") orelse &.{};
    const core = b.createModule(.{
        .root_source_file = b.path("zig/lib.zig"),
        .target = target,
        .optimize = .ReleaseSafe,
        .link_libc = target.result.os.tag != .windows,
        .imports = &.{.{ .name = "build_options", .module = optionsModule(b, target) }},
    });
    // The same objects as those of `-Dsafe-kernels`.
    const safe: Settings = .{ .strip = true, .safe_kernels = true };
    for (addKernels(b, target, safe)) |object| core.addObject(object);
    const tests = b.addTest(.{ .name = "core", .root_module = core, .filters = filters });
    const run_tests = b.addRunArtifact(tests);
    step.dependOn(&run_tests.step);
    b.step("test-core", "Tests of everything but the kernels").dependOn(&run_tests.step);

    for (listVariants(b, target)) |v| {
        if (!runs(b, v)) continue;
        const name = b.fmt("kernels-{s}", .{v.name});
        const kernel_tests = b.addTest(.{
            .name = name,
            .root_module = kernelModule(b, v, .ReleaseSafe, false),
            .filters = filters,
        });
        step.dependOn(&b.addRunArtifact(kernel_tests).step);
        b.step(b.fmt("test-{s}", .{name}), "Kernel tests on one instruction set")
            .dependOn(&b.addRunArtifact(kernel_tests).step);
    }
}

/// Whether the host has every feature of the variant that changes which instructions are used, or
/// an emulator has.
fn runs(b: *std.Build, v: Variant) bool {
    const host = b.graph.host.result.cpu;
    if (host.arch != v.target.result.cpu.arch) return b.enable_qemu;
    var needed = v.target.result.cpu.features;
    // Tuning hints and privileged features that a hypervisor may hide are not instructions we use.
    if (v.target.result.cpu.arch == .x86_64) {
        const used = std.Target.x86.featureSet(&.{
            .sse4_2,     .popcnt,     .avx2,
            .fma,        .f16c,       .bmi,
            .bmi2,       .avx512f,    .avx512bw,
            .avx512cd,   .avx512dq,   .avx512vl,
            .avx512vnni, .avx512bf16, .avx512vbmi,
        });
        for (&needed.ints, used.ints) |*word, mask| word.* &= mask;
    }
    return host.features.isSuperSetOf(needed);
}
