/* What every public function is made of: handles, one call at a time on each, and errors as codes and texts.
 */
#ifndef L2SR_SYSTEMS_CALL_H
#define L2SR_SYSTEMS_CALL_H

#include "engine/base/error.h"
#include "systems/public/l2sr.h"

enum handle_kind { HANDLE_ENV, HANDLE_TABLE };

/* The work of a call, on what the handle stands for (NULL: there is no handle) and the call's arguments. */
typedef bool call_work_on(void *object, void *arguments, struct error *error);

/* Does the work inside `rescue` and in the C locale; keeps the text of an error for l2sr_last_error. */
enum l2sr_code call_plain(call_work_on *work, void *arguments);
/* The same on an open handle, which no other call may use meanwhile. What ends the work by `fatal` leaves the
 * handle to be closed alone. */
enum l2sr_code call_on(const void *handle, enum handle_kind kind, call_work_on *work, void *arguments);
/* Does the work of closing, but where its object is lost, and forgets the handle. */
enum l2sr_code call_close(const void *handle, enum handle_kind kind, call_work_on *work);

/* A new handle; NULL where too many are open. Its value is no address: one that was closed is never given
 * again. */
void *handle_give(enum handle_kind kind, void *object, struct error *error);

#endif
