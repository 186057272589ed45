//! The op table, defined once: codes, names, operands, shape rules and params of every op.
//! `zig build gen` writes the TypeScript and C copies; the build fails when they are stale.

const std = @import("std");
const assert = std.debug.assert;

const dtypes = @import("dtype.zig");
pub const shape = @import("shape.zig");
pub const elementwise = @import("ops/elementwise.zig");
pub const norms = @import("ops/norms.zig");
pub const reductions = @import("ops/reductions.zig");
pub const arranging = @import("ops/arranging.zig");
pub const masked = @import("ops/masked.zig");
pub const spatial = @import("ops/spatial.zig");
pub const recurrent = @import("ops/recurrent.zig");
pub const positional = @import("ops/positional.zig");
pub const training = @import("ops/training.zig");

pub const sources_max = 12;
pub const outputs_max = 4;
pub const params_size_max = 64;

/// Ids of the gradient rules; the column is reserved until there are any.
pub const Gradient = enum { none };

pub const Source = struct {
    name: [:0]const u8,
    optional: bool = false,
};

pub const Row = struct {
    code: u16,
    name: [:0]const u8,
    /// Raised when the meaning of sources or params changes; backends of others are held to it.
    version: u8 = 1,
    sources: []const Source,
    output_count: u8 = 1,
    /// The source whose memory the first output is, for ops that update a tensor in place.
    updates: ?u8 = null,
    /// Sources whose memory the first output may take over when nobody reads them afterwards:
    /// the kernel reads each element before it writes the same one.
    reuses: []const u8 = &.{},
    infer: *const fn (*shape.Inference) shape.Error!void,
    Params: type = NoParams,
    gradient: Gradient = .none,
};

pub const NoParams = extern struct {};
pub const NormParams = extern struct { epsilon: f32 };
pub const CopyParams = extern struct { dtype: u32 };

/// Rotary position embedding, Su et al. 2021 (arXiv:2104.09864); YaRN, Peng et al. 2023
/// (arXiv:2309.00071). `style` 0 rotates neighbouring pairs, 1 the halves of the rotated part.
pub const RopeParams = extern struct {
    style: u32,
    /// How many leading values of each head are rotated.
    rotated: u32,
    base: f32,
    /// Positions are multiplied by this: 1/factor of linear scaling and of YaRN.
    scale: f32,
    /// How far YaRN's extrapolation is mixed in: 0 (plain or linear) to 1.
    extrapolation: f32,
    /// Multiplies cosine and sine.
    magnitude: f32,
    beta_fast: f32,
    beta_slow: f32,
    original_context: u32,
};

/// Attention over a paged cache (Kwon et al. 2023, arXiv:2309.06180).
pub const AttentionParams = extern struct {
    scale: f32,
    /// Cells per block of the block table.
    block_size: u32,
    causal: u32,
    /// Keys further back than this are not seen; 0 is no window.
    window: u32,
    /// Scores become softcap * tanh(score / softcap); 0 is off.
    softcap: f32,
    /// ALiBi (Press et al. 2021, arXiv:2108.12409), the largest bias; 0 is off.
    alibi_max: f32,
};

/// Gated linear units, Shazeer 2020 (arXiv:2002.05202).
pub const GluKind = enum(u32) { swiglu = 0, reglu = 1, geglu = 2, geglu_erf = 3, geglu_quick = 4 };
pub const GluParams = extern struct { kind: u32 };

pub const one = [_]Source{.{ .name = "x" }};
pub const pair = [_]Source{ .{ .name = "a" }, .{ .name = "b" } };

/// Every row at the place of its code.
pub const table = inOrder(first ++ elementwise.rows ++ norms.rows ++ reductions.rows ++
    arranging.rows ++ masked.rows ++ spatial.rows ++ recurrent.rows ++
    positional.rows ++ training.rows);

const first = [_]Row{
    .{ .code = 0, .name = "add", .sources = &pair, .reuses = &.{0}, .infer = shape.broadcast },
    .{ .code = 1, .name = "mul", .sources = &pair, .reuses = &.{0}, .infer = shape.broadcast },
    .{ .code = 2, .name = "copy", .sources = &one, .infer = shape.copy, .Params = CopyParams },
    .{
        .code = 3,
        .name = "get_rows",
        .sources = &.{ .{ .name = "table" }, .{ .name = "rows" } },
        .infer = shape.getRows,
    },
    .{
        .code = 4,
        .name = "set_rows",
        .sources = &.{ .{ .name = "table" }, .{ .name = "values" }, .{ .name = "rows" } },
        .updates = 0,
        .infer = shape.setRows,
    },
    .{ .code = 5, .name = "quantize_row", .sources = &one, .infer = shape.quantizeRow },
    .{
        .code = 6,
        .name = "linear",
        .sources = &.{
            .{ .name = "weight" },
            .{ .name = "x" },
            .{ .name = "bias", .optional = true },
            .{ .name = "adapter_ids", .optional = true },
            .{ .name = "adapter_a", .optional = true },
            .{ .name = "adapter_b", .optional = true },
            .{ .name = "adapter_scales", .optional = true },
        },
        .infer = shape.linear,
    },
    .{
        .code = 7,
        .name = "rms_norm",
        .sources = &.{ .{ .name = "x" }, .{ .name = "weight", .optional = true } },
        .reuses = &.{0},
        .infer = shape.norm,
        .Params = NormParams,
    },
    .{
        .code = 8,
        .name = "rope",
        .sources = &.{
            .{ .name = "x" },
            .{ .name = "positions" },
            .{ .name = "frequency_factors", .optional = true },
        },
        .reuses = &.{0},
        .infer = shape.rope,
        .Params = RopeParams,
    },
    .{
        .code = 9,
        .name = "attention",
        .sources = &.{
            .{ .name = "queries" }, // [head_dim, heads, rows]
            .{ .name = "keys" }, // [head_dim * kv_heads, cells]
            .{ .name = "values" }, // [value_dim * kv_heads, cells]
            .{ .name = "cell_positions" }, // i32 [cells]; negative is an empty cell
            .{ .name = "row_positions" }, // i32 [rows]
            .{ .name = "row_sequences" }, // i32 [rows]: columns of the block table
            .{ .name = "lengths" }, // i32 [sequences]: cells of each sequence
            .{ .name = "block_table" }, // i32 [blocks, sequences]
            .{ .name = "sinks", .optional = true }, // f32 [heads]
        },
        .infer = shape.attention,
        .Params = AttentionParams,
    },
    .{
        .code = 10,
        .name = "glu",
        .sources = &.{ .{ .name = "gate" }, .{ .name = "up" } },
        .reuses = &.{ 0, 1 },
        .infer = shape.glu,
        .Params = GluParams,
    },
};

fn inOrder(comptime rows: anytype) [rows.len]Row {
    var list: [rows.len]Row = undefined;
    for (rows) |row| list[row.code] = row;
    return list;
}

/// An enum whose tags are the table's names: `Op.linear`.
pub const Op = blk: {
    var names: [table.len][]const u8 = undefined;
    var codes: [table.len]u16 = undefined;
    for (table, 0..) |row, index| {
        names[index] = row.name;
        codes[index] = row.code;
    }
    break :blk @Enum(u16, .exhaustive, &names, &codes);
};

comptime {
    for (table, 0..) |row, index| {
        assert(row.code == index); // Dense, so that backends can index arrays by code.
        assert(row.sources.len <= sources_max);
        assert(row.output_count > 0);
        assert(row.output_count <= outputs_max);
        assert(@sizeOf(row.Params) <= params_size_max);
    }
}

/// What run time may know of a row (the table itself holds types, so it is compile-time only).
pub const Info = struct {
    name: [:0]const u8,
    sources: []const Source,
    output_count: u8,
    updates: ?u8,
    reuses: []const u8,
    params_size: u32,
    infer: *const fn (*shape.Inference) shape.Error!void,
};

const infos: [table.len]Info = blk: {
    var list: [table.len]Info = undefined;
    for (table, 0..) |row, index| list[index] = .{
        .name = row.name,
        .sources = row.sources,
        .output_count = row.output_count,
        .updates = row.updates,
        .reuses = row.reuses,
        .params_size = @sizeOf(row.Params),
        .infer = row.infer,
    };
    break :blk list;
};

pub fn info(code: u32) ?*const Info {
    return if (code < infos.len) &infos[code] else null;
}

/// One number for both tables, compiled into the library and written into `ops.gen.ts`.
pub fn digest() u32 {
    @setEvalBranchQuota(1_000_000);
    var hash: std.hash.Fnv1a_32 = .init();
    for (table) |row| {
        hash.update(std.fmt.comptimePrint("{s} {d} {d} {any} {any}", .{
            row.name, row.version, row.output_count, row.updates, row.reuses,
        }));
        for (row.sources) |source| {
            hash.update(source.name ++ if (source.optional) "?" else "!");
        }
        for (@typeInfo(row.Params).@"struct".fields) |field| {
            hash.update(field.name ++ @typeName(field.type));
        }
    }
    for (std.enums.values(dtypes.DType)) |dtype| {
        hash.update(std.fmt.comptimePrint("{t} {d} {any}", .{
            dtype, @intFromEnum(dtype), dtypes.layout(dtype),
        }));
    }
    return hash.final();
}

/// Proves that `kernels` declares every op except the `missing` ones, and nothing else.
pub fn checkKernels(comptime kernels: type, comptime missing: []const Op) void {
    @setEvalBranchQuota(100_000);
    for (std.enums.values(Op)) |op| {
        const absent = std.mem.findScalar(Op, missing, op) != null;
        if (@hasDecl(kernels, @tagName(op)) == absent) @compileError("kernel '" ++ @tagName(op) ++
            "' is " ++ (if (absent) "listed as missing but exists" else "missing"));
    }
    for (@typeInfo(kernels).@"struct".decls) |decl| {
        if (!@hasField(Op, decl.name)) @compileError("kernel '" ++ decl.name ++ "' has no row");
    }
}
