/* model/beside.h - paths of the files that a model file names. Such a file must lie in the
 * folder of the model file. Internal. */
#ifndef MODEL_BESIDE_H
#define MODEL_BESIDE_H

#include "base/error.h"

#include <limits.h>

/* The path of `name` in the folder of the file `model`; false if it is too long. */
bool hp_path_beside(const char *model, const char *name, char path[PATH_MAX]);

/* The same of a file that is there (HYPAR_UNREADABLE if it is not). A model that somebody else
 * made must not lead to files elsewhere: HYPAR_INVALID if a link leads out of the folder,
 * unless `follow_links`. `what` the file is begins messages. */
enum hypar_status hp_file_beside(const char *model, const char *name, const char *what,
                                 bool follow_links, char path[PATH_MAX],
                                 struct hypar_error *err);

#endif /* MODEL_BESIDE_H */
