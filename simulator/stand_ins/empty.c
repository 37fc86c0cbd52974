/* libcuda.so.1 and libnvidia-ml.so.1 hold nothing of their own: whoever opens them finds the names in the library they
 * depend on. */
