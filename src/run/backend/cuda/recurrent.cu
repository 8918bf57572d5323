// LSTM and GRU, one step at a time, a thread for each sample and feature: as lstm.inc and gru.inc of the reference kernels.
// A cell is a sequence of one step. Results are added to what is there.
#include "run/backend/cuda/arguments.h"

enum { GATE_I, GATE_F, GATE_G, GATE_O, LSTM_GATES };
enum { GRU_R, GRU_Z, GRU_M, GRU_GATES, GRU_Q = GRU_GATES };

template <class T> static __device__ T &at(const cuda_array &v, long long i, long long j, long long k = 0, long long l = 0)
{
    return ((T *)v.data)[v.base + i * v.stride[0] + j * v.stride[1] + k * v.stride[2] + l * v.stride[3]];
}

static __device__ double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static __device__ long long place_of(const cuda_recurrent &p, long long i)
{
    return p.reverse ? p.steps - 1 - i : i;
}

// h of the step before step i, feature j; 0 before the first.
template <class T> static __device__ double h_before(const cuda_recurrent &p, long long n, long long i, long long j)
{
    if (i > 0)
        return double(at<T>(p.y, n, place_of(p, i - 1), j));
    return p.h0.data ? double(at<T>(p.h0, n, j)) : 0;
}

template <class T> static __device__ double c_before(const cuda_recurrent &p, long long n, long long i, long long k)
{
    if (i > 0)
        return double(at<T>(p.c, n, place_of(p, i - 1), k));
    return p.c0.data ? double(at<T>(p.c0, n, k)) : 0;
}

// w x + b of one gate, and u h' + d.
template <class T> static __device__ double from_input(const cuda_recurrent &p, long long gate, long long n, long long t, long long k)
{
    double sum = p.b.data ? double(at<T>(p.b, gate, k)) : 0;
    for (long long c = 0; c < p.inputs; c++)
        sum += double(at<T>(p.w, gate, k, c)) * double(at<T>(p.x, n, t, c));
    return sum;
}

template <class T> static __device__ double from_state(const cuda_recurrent &p, long long gate, long long n, long long i, long long k)
{
    double sum = p.d.data ? double(at<T>(p.d, gate, k)) : 0;
    for (long long j = 0; j < p.width && (i > 0 || p.h0.data); j++)
        sum += double(at<T>(p.u, gate, k, j)) * h_before<T>(p, n, i, j);
    return sum;
}

// This thread's n and k; false: it has none.
static __device__ bool find(const cuda_recurrent &p, long long width, long long first, long long &n, long long &k)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    n = p.n_lo + i / width;
    k = first + i % width;
    return n < p.n_hi;
}

template <class T> static __device__ void lstm_step(const cuda_recurrent &p)
{
    long long n, k, i = p.step, t = place_of(p, i);
    if (!find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        return;
    double gate[LSTM_GATES];
    for (int j = 0; j < LSTM_GATES; j++) {
        double sum = from_input<T>(p, j, n, t, k) + from_state<T>(p, j, n, i, k);
        gate[j] = j == GATE_G ? tanh(sum) : sigmoid(sum);
        at<T>(p.a, n, t, j, k) += T(gate[j]);
    }
    double c = gate[GATE_F] * c_before<T>(p, n, i, k) + gate[GATE_I] * gate[GATE_G];
    at<T>(p.c, n, t, k) += T(c);
    at<T>(p.y, n, t, k) += T(gate[GATE_O] * tanh(c));
    if (i < p.steps - 1)
        return;
    if (p.h_last.data)
        at<T>(p.h_last, n, k) += at<T>(p.y, n, t, k);
    if (p.c_last.data)
        at<T>(p.c_last, n, k) += at<T>(p.c, n, t, k);
}

template <class T> static __device__ double lstm_h_error(const cuda_recurrent &p, long long n, long long i, long long k)
{
    double error = p.dy.data ? double(at<T>(p.dy, n, place_of(p, i), k)) : 0;
    if (i == p.steps - 1)
        return error + (p.dh_last.data ? double(at<T>(p.dh_last, n, k)) : 0);
    for (int gate = 0; gate < LSTM_GATES; gate++)
        for (long long j = 0; j < p.width; j++)
            error += double(at<T>(p.g, n, place_of(p, i + 1), gate, j)) * double(at<T>(p.u, gate, j, k));
    return error;
}

template <class T> static __device__ double lstm_c_error(const cuda_recurrent &p, long long n, long long i, long long k, double dh)
{
    long long t = place_of(p, i);
    double c = tanh(double(at<T>(p.c, n, t, k)));
    double error = dh * double(at<T>(p.a, n, t, GATE_O, k)) * (1 - c * c);
    if (i == p.steps - 1)
        return error + (p.dc_last.data ? double(at<T>(p.dc_last, n, k)) : 0);
    long long after = place_of(p, i + 1);
    return error + double(at<T>(p.dc, n, after, k)) * double(at<T>(p.a, n, after, GATE_F, k));
}

template <class T> static __device__ void lstm_errors(const cuda_recurrent &p)
{
    long long n, k, i = p.step, t = place_of(p, i);
    if (!find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        return;
    double in = double(at<T>(p.a, n, t, GATE_I, k)), f = double(at<T>(p.a, n, t, GATE_F, k));
    double g = double(at<T>(p.a, n, t, GATE_G, k)), o = double(at<T>(p.a, n, t, GATE_O, k));
    double dh = lstm_h_error<T>(p, n, i, k), dc = lstm_c_error<T>(p, n, i, k, dh);
    at<T>(p.g, n, t, GATE_I, k) += T(dc * g * in * (1 - in));
    at<T>(p.g, n, t, GATE_F, k) += T(dc * c_before<T>(p, n, i, k) * f * (1 - f));
    at<T>(p.g, n, t, GATE_G, k) += T(dc * in * (1 - g * g));
    at<T>(p.g, n, t, GATE_O, k) += T(dh * tanh(double(at<T>(p.c, n, t, k))) * o * (1 - o));
    if (p.dc.data)
        at<T>(p.dc, n, t, k) += T(dc);
}

// The errors of the h and the c before the first step.
template <class T> static __device__ void lstm_initial(const cuda_recurrent &p)
{
    long long n, k, t = place_of(p, 0);
    if (!find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        return;
    if (p.dc0.data)
        at<T>(p.dc0, n, k) += at<T>(p.dc, n, t, k) * at<T>(p.a, n, t, GATE_F, k);
    double sum = 0;
    for (int gate = 0; p.dh0.data && gate < LSTM_GATES; gate++)
        for (long long j = 0; j < p.width; j++)
            sum += double(at<T>(p.g, n, t, gate, j)) * double(at<T>(p.u, gate, j, k));
    if (p.dh0.data)
        at<T>(p.dh0, n, k) += T(sum);
}

// Of a cell: the error of the c before it.
template <class T> static __device__ void lstm_cell_error(const cuda_recurrent &p)
{
    long long n, k;
    if (find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        at<T>(p.dc0, n, k) += T(lstm_c_error<T>(p, n, 0, k, lstm_h_error<T>(p, n, 0, k)) * double(at<T>(p.a, n, 0, GATE_F, k)));
}

template <class T> static __device__ void gru_step(const cuda_recurrent &p)
{
    long long n, k, i = p.step, t = place_of(p, i);
    if (!find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        return;
    double in[GRU_GATES], state[GRU_GATES];
    for (int gate = 0; gate < GRU_GATES; gate++) {
        in[gate] = from_input<T>(p, gate, n, t, k);
        state[gate] = from_state<T>(p, gate, n, i, k);
    }
    double r = sigmoid(in[GRU_R] + state[GRU_R]), z = sigmoid(in[GRU_Z] + state[GRU_Z]);
    double m = tanh(in[GRU_M] + r * state[GRU_M]);
    at<T>(p.a, n, t, GRU_R, k) += T(r);
    at<T>(p.a, n, t, GRU_Z, k) += T(z);
    at<T>(p.a, n, t, GRU_M, k) += T(m);
    at<T>(p.a, n, t, GRU_Q, k) += T(state[GRU_M]);
    at<T>(p.y, n, t, k) += T((1 - z) * m + z * h_before<T>(p, n, i, k));
    if (i == p.steps - 1 && p.h_last.data)
        at<T>(p.h_last, n, k) += at<T>(p.y, n, t, k);
}

template <class T> static __device__ double gru_error(const cuda_recurrent &p, long long n, long long i, long long k)
{
    double error = p.dy.data ? double(at<T>(p.dy, n, place_of(p, i), k)) : 0;
    if (i == p.steps - 1)
        return error + (p.dh_last.data ? double(at<T>(p.dh_last, n, k)) : 0);
    long long after = place_of(p, i + 1);
    error += double(at<T>(p.dc, n, after, k)) * double(at<T>(p.a, n, after, GRU_Z, k));
    for (int gate = 0; gate < GRU_GATES; gate++)
        for (long long j = 0; j < p.width; j++)
            error += double(at<T>(p.s, n, after, gate, j)) * double(at<T>(p.u, gate, j, k));
    return error;
}

template <class T> static __device__ void gru_errors(const cuda_recurrent &p)
{
    long long n, k, i = p.step, t = place_of(p, i);
    if (!find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        return;
    double r = double(at<T>(p.a, n, t, GRU_R, k)), z = double(at<T>(p.a, n, t, GRU_Z, k));
    double m = double(at<T>(p.a, n, t, GRU_M, k)), q = double(at<T>(p.a, n, t, GRU_Q, k));
    double dh = gru_error<T>(p, n, i, k), before = h_before<T>(p, n, i, k);
    double gm = dh * (1 - z) * (1 - m * m);
    const double g[GRU_GATES] = { gm * q * r * (1 - r), dh * (before - m) * z * (1 - z), gm };
    for (int gate = 0; gate < GRU_GATES; gate++) {
        at<T>(p.g, n, t, gate, k) += T(g[gate]);
        at<T>(p.s, n, t, gate, k) += T(gate == GRU_M ? gm * r : g[gate]);
    }
    if (p.dc.data)
        at<T>(p.dc, n, t, k) += T(dh);
}

template <class T> static __device__ void gru_initial(const cuda_recurrent &p)
{
    long long n, k, t = place_of(p, 0);
    if (!find(p, p.k_hi - p.k_lo, p.k_lo, n, k))
        return;
    double sum = double(at<T>(p.dc, n, t, k)) * double(at<T>(p.a, n, t, GRU_Z, k));
    for (int gate = 0; gate < GRU_GATES; gate++)
        for (long long j = 0; j < p.width; j++)
            sum += double(at<T>(p.s, n, t, gate, j)) * double(at<T>(p.u, gate, j, k));
    at<T>(p.dh0, n, k) += T(sum);
}

// Of a cell: what the part's features k add to the error of all features j of the h before it.
template <class T> static __device__ void gru_cell_error(const cuda_recurrent &p)
{
    long long n, j;
    if (!find(p, p.width, 0, n, j))
        return;
    double sum = 0;
    for (int gate = 0; gate < GRU_GATES; gate++)
        for (long long k = p.k_lo; k < p.k_hi; k++)
            sum += double(at<T>(p.s, n, 0, gate, k)) * double(at<T>(p.u, gate, k, j));
    if (p.dy.data && j >= p.k_lo && j < p.k_hi)
        sum += double(at<T>(p.dy, n, 0, j)) * double(at<T>(p.a, n, 0, GRU_Z, j));
    at<T>(p.dh0, n, j) += T(sum);
}

// du: the sum of the gates' errors times the h of the step before. Each of p.gates x k has p.width threads.
template <class T> static __device__ void state_weights(const cuda_recurrent &p)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, features = p.k_hi - p.k_lo;
    long long j = i % p.width, k = p.k_lo + i / p.width % features, gate = i / p.width / features;
    const cuda_array &errors = p.s.data ? p.s : p.g;
    double sum = 0;
    if (gate >= p.gates)
        return;
    for (long long n = p.n_lo; n < p.n_hi; n++)
        for (long long step = p.h0.data ? 0 : 1; step < p.steps; step++)
            sum += double(at<T>(errors, n, place_of(p, step), gate, k)) * h_before<T>(p, n, step, j);
    at<T>(p.du, gate, k, j) += T(sum);
}

extern "C" __global__ void lstm_step_f32(cuda_recurrent p) { lstm_step<float>(p); }
extern "C" __global__ void lstm_step_f64(cuda_recurrent p) { lstm_step<double>(p); }
extern "C" __global__ void lstm_errors_f32(cuda_recurrent p) { lstm_errors<float>(p); }
extern "C" __global__ void lstm_errors_f64(cuda_recurrent p) { lstm_errors<double>(p); }
extern "C" __global__ void lstm_initial_f32(cuda_recurrent p) { lstm_initial<float>(p); }
extern "C" __global__ void lstm_initial_f64(cuda_recurrent p) { lstm_initial<double>(p); }
extern "C" __global__ void lstm_cell_error_f32(cuda_recurrent p) { lstm_cell_error<float>(p); }
extern "C" __global__ void lstm_cell_error_f64(cuda_recurrent p) { lstm_cell_error<double>(p); }
extern "C" __global__ void gru_step_f32(cuda_recurrent p) { gru_step<float>(p); }
extern "C" __global__ void gru_step_f64(cuda_recurrent p) { gru_step<double>(p); }
extern "C" __global__ void gru_errors_f32(cuda_recurrent p) { gru_errors<float>(p); }
extern "C" __global__ void gru_errors_f64(cuda_recurrent p) { gru_errors<double>(p); }
extern "C" __global__ void gru_initial_f32(cuda_recurrent p) { gru_initial<float>(p); }
extern "C" __global__ void gru_initial_f64(cuda_recurrent p) { gru_initial<double>(p); }
extern "C" __global__ void gru_cell_error_f32(cuda_recurrent p) { gru_cell_error<float>(p); }
extern "C" __global__ void gru_cell_error_f64(cuda_recurrent p) { gru_cell_error<double>(p); }
extern "C" __global__ void state_weights_f32(cuda_recurrent p) { state_weights<float>(p); }
extern "C" __global__ void state_weights_f64(cuda_recurrent p) { state_weights<double>(p); }
