// liblz4's block and frame interfaces, as the engine and the tool see them.
#include <lz4.h>
#include <lz4frame.h>
