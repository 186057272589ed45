//! One line per CPU kernel; compiled once per instruction set into an object of its own.

const std = @import("std");
const abi = @import("kernels/abi.zig");
const ops = @import("ops.zig");
const variant = @import("variant");

const entropy = @import("kernels/cross_entropy.zig");

pub const kernels = struct {
    pub const add = @import("kernels/binary.zig").add;
    pub const mul = @import("kernels/binary.zig").mul;
    pub const copy = @import("kernels/copy.zig").copy;
    pub const get_rows = @import("kernels/get_rows.zig").get_rows;
    pub const set_rows = @import("kernels/set_rows.zig").set_rows;
    pub const quantize_row = @import("kernels/quantize_row.zig").quantize_row;
    pub const linear = @import("kernels/linear.zig").linear;
    pub const rms_norm = @import("kernels/rms_norm.zig").rms_norm;
    pub const rope = @import("kernels/rope.zig").rope;
    pub const attention = @import("kernels/attention.zig").attention;
    pub const glu = @import("kernels/glu.zig").glu;
    pub const sub = @import("kernels/binary.zig").sub;
    pub const div = @import("kernels/binary.zig").div;
    pub const scale = @import("kernels/pointwise.zig").scale;
    pub const unary = @import("kernels/unary.zig").unary;
    pub const clamp = @import("kernels/pointwise.zig").clamp;
    pub const leaky_relu = @import("kernels/pointwise.zig").leaky_relu;
    pub const xielu = @import("kernels/pointwise.zig").xielu;
    pub const swiglu_oai = @import("kernels/glu.zig").swiglu_oai;
    pub const swiglu_clamp = @import("kernels/glu.zig").swiglu_clamp;
    pub const fill = @import("kernels/pointwise.zig").fill;
    pub const layer_norm = @import("kernels/layer_norm.zig").layer_norm;
    pub const l2_norm = @import("kernels/l2_norm.zig").l2_norm;
    pub const group_norm = @import("kernels/group_norm.zig").group_norm;
    pub const soft_max = @import("kernels/soft_max.zig").soft_max;
    pub const sum = @import("kernels/sum.zig").sum;
    pub const sum_rows = @import("kernels/sum.zig").sum_rows;
    pub const mean = @import("kernels/sum.zig").mean;
    pub const cumsum = @import("kernels/cumsum.zig").cumsum;
    pub const argmax = @import("kernels/argmax.zig").argmax;
    pub const count_equal = @import("kernels/count_equal.zig").count_equal;
    pub const argsort = @import("kernels/argsort.zig").argsort;
    pub const top_k = @import("kernels/argsort.zig").top_k;
    pub const repeat = @import("kernels/repeat.zig").repeat;
    pub const repeat_back = @import("kernels/repeat.zig").repeat_back;
    pub const concat = @import("kernels/concat.zig").concat;
    pub const pad = @import("kernels/pad.zig").pad;
    pub const roll = @import("kernels/roll.zig").roll;
    pub const tri = @import("kernels/tri.zig").tri;
    pub const diag = @import("kernels/tri.zig").diag;
    pub const diag_mask = @import("kernels/tri.zig").diag_mask;
    pub const set = @import("kernels/set.zig").set;
    pub const acc = @import("kernels/set.zig").acc;
    pub const add_id = @import("kernels/add_id.zig").add_id;
    pub const flash_attn = @import("kernels/flash_attn.zig").flash_attn;
    pub const pool_1d = @import("kernels/pool.zig").pool_1d;
    pub const pool_2d = @import("kernels/pool.zig").pool_2d;
    pub const upscale = @import("kernels/upscale.zig").upscale;
    pub const im2col = @import("kernels/im2col.zig").im2col;
    pub const conv_2d = @import("kernels/conv_2d.zig").conv_2d;
    pub const conv_2d_dw = @import("kernels/conv_2d.zig").conv_2d_dw;
    pub const conv_transpose_1d = @import("kernels/conv_transpose.zig").conv_transpose_1d;
    pub const conv_transpose_2d = @import("kernels/conv_transpose.zig").conv_transpose_2d;
    pub const ssm_conv = @import("kernels/ssm_conv.zig").ssm_conv;
    pub const ssm_scan = @import("kernels/ssm_scan.zig").ssm_scan;
    pub const rwkv_wkv6 = @import("kernels/rwkv.zig").rwkv_wkv6;
    pub const rwkv_wkv7 = @import("kernels/rwkv.zig").rwkv_wkv7;
    pub const gated_linear_attn = @import("kernels/gated_linear_attn.zig").gated_linear_attn;
    pub const gated_delta_net = @import("kernels/gated_delta_net.zig").gated_delta_net;
    pub const solve_tri = @import("kernels/solve_tri.zig").solve_tri;
    pub const rope_back = @import("kernels/rope.zig").rope_back;
    pub const rope_multi = @import("kernels/rope_multi.zig").rope_multi;
    pub const timestep_embedding = @import("kernels/timestep_embedding.zig").timestep_embedding;
    pub const arange = @import("kernels/arange.zig").arange;
    pub const out_prod = @import("kernels/out_prod.zig").out_prod;
    pub const silu_back = @import("kernels/gradients.zig").silu_back;
    pub const rms_norm_back = @import("kernels/gradients.zig").rms_norm_back;
    pub const soft_max_back = @import("kernels/gradients.zig").soft_max_back;
    pub const get_rows_back = @import("kernels/gradients.zig").get_rows_back;
    pub const cross_entropy_loss = entropy.cross_entropy_loss;
    pub const cross_entropy_loss_back = entropy.cross_entropy_loss_back;
    pub const opt_step_adamw = @import("kernels/optimizer.zig").opt_step_adamw;
    pub const opt_step_sgd = @import("kernels/optimizer.zig").opt_step_sgd;
};

comptime {
    ops.checkKernels(kernels, &.{});
}

const table: [ops.table.len]abi.Kernel = blk: {
    var list: [ops.table.len]abi.Kernel = undefined;
    for (ops.table, 0..) |row, index| list[index] = @field(kernels, row.name);
    break :blk list;
};

const formats = &@import("kernels/formats/table.zig").table;

comptime {
    @export(&table, .{ .name = "leaven_kernels_" ++ variant.name, .visibility = .hidden });
    @export(formats, .{ .name = "leaven_formats_" ++ variant.name, .visibility = .hidden });
}
