//! Builds the native library, its kernels once per instruction set, the generated copies of the
//! op tables, and the Zig tests.
//!
//!   zig build              the library, into zig-out
//!   zig build gen          rewrite the generated files
//!   zig build check-gen    fail when they are stale
//!   zig build test         Zig tests, kernels on every instruction set this machine runs
//!   zig build test-core    those of everything else

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

pub fn build(b: *std.Build) void {
    // The glue is built for the baseline processor, never for this machine's own.
    const target = b.standardTargetOptions(.{ .default_target = .{ .cpu_model = .baseline } });
    const strip = b.option(bool, "strip", "leave out debug information (default: yes)") orelse true;
    const safe_kernels = b.option(
        bool,
        "safe-kernels",
        "build the kernels with safety checks, for fuzzing (default: no)",
    ) orelse false;
    const variants = listVariants(b, target);

    const core = b.createModule(.{
        .root_source_file = b.path("zig/lib.zig"),
        .target = target,
        .optimize = .ReleaseSafe,
        .strip = strip,
        .pic = true,
        .link_libc = true,
        .unwind_tables = .none,
    });
    const names = addKernels(b, core, variants, safe_kernels, strip);
    const options = b.addOptions();
    options.addOption([]const []const u8, "variants", names);
    options.addOption([]const u8, "version", "0.1.0");
    core.addImport("build_options", options.createModule());
    const library = b.addLibrary(.{ .name = "leaven", .linkage = .dynamic, .root_module = core });
    b.installArtifact(library);

    addGenerator(b);
    addTests(b, target, variants, options);
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

fn addKernels(
    b: *std.Build,
    core: *std.Build.Module,
    variants: []const Variant,
    safe: bool,
    strip: bool,
) []const []const u8 {
    const names = b.allocator.alloc([]const u8, variants.len) catch @panic("OOM");
    for (variants, names) |v, *name| {
        const optimize: std.builtin.OptimizeMode = if (safe) .ReleaseSafe else .ReleaseFast;
        const module = kernelModule(b, v, optimize, strip);
        const object_name = b.fmt("kernels_{s}", .{v.name});
        core.addObject(b.addObject(.{ .name = object_name, .root_module = module }));
        name.* = v.name;
    }
    return names;
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

fn addTests(
    b: *std.Build,
    target: std.Build.ResolvedTarget,
    variants: []const Variant,
    options: *std.Build.Step.Options,
) void {
    const step = b.step("test", "Run the Zig tests");
    const filters = b.option([]const []const u8, "test-filter", "run only these") orelse &.{};
    const core = b.createModule(.{
        .root_source_file = b.path("zig/lib.zig"),
        .target = target,
        .optimize = .ReleaseSafe,
        .link_libc = true,
    });
    // The same objects as those of `-Dsafe-kernels`.
    _ = addKernels(b, core, variants, true, true);
    core.addImport("build_options", options.createModule());
    const tests = b.addTest(.{ .name = "core", .root_module = core, .filters = filters });
    const run_tests = b.addRunArtifact(tests);
    step.dependOn(&run_tests.step);
    b.step("test-core", "Tests of everything but the kernels").dependOn(&run_tests.step);

    for (variants) |v| {
        const host = b.graph.host.result.cpu;
        if (host.arch != v.target.result.cpu.arch) continue;
        if (!runs(host.features, v)) continue;
        const module = kernelModule(b, v, .ReleaseSafe, false);
        const name = b.fmt("kernels-{s}", .{v.name});
        const kernel_tests = b.addTest(.{
            .name = name,
            .root_module = module,
            .filters = filters,
        });
        step.dependOn(&b.addRunArtifact(kernel_tests).step);
        b.step(b.fmt("test-{s}", .{name}), "Kernel tests on one instruction set")
            .dependOn(&b.addRunArtifact(kernel_tests).step);
    }
}

/// Whether the host has every feature of the variant that changes which instructions are used.
fn runs(host: std.Target.Cpu.Feature.Set, v: Variant) bool {
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
    return host.isSuperSetOf(needed);
}
