/* Streams of random numbers (engine/base/random.h): one a purpose. Kernels have the same numbers in
 * kernels/common.h. They are part of every result and never change (PROTOCOL 7). */
#ifndef L2SR_COMPONENTS_STREAMS_H
#define L2SR_COMPONENTS_STREAMS_H

enum random_stream {
  STREAM_ORDER = 1,   /* shuffles */
  STREAM_MASK = 2,    /* random patterns of training data */
  STREAM_ACTION = 3,  /* choices that are acted on */
  STREAM_START = 4,   /* initial parameters: GRAPH_STREAM (engine/graph/graph.h) */
  STREAM_PHANTOM = 5, /* synthetic data */
  STREAM_EXACT = 6,   /* draws of learned masks */
  STREAM_MOVE = 7,    /* how slices are moved */
  STREAM_COILS = 8,   /* phase and noise of simulated coils (kernels/coil.cl) */
  STREAM_SHIFT = 12,  /* how the wavelets of a reconstruction are moved */
  STREAM_REPLAY = 14, /* rows that are drawn from a replay */
  STREAM_SEARCH = 15  /* settings that a search tries */
};

#endif
