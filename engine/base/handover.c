#include "engine/base/handover.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_SECONDS = 20 };

struct letter {
  uint64_t secret; /* of whom it is for */
  uint32_t number, unused;
};

/* A message with room for one open file. */
struct envelope {
  struct letter letter;
  struct iovec words;
  _Alignas(struct cmsghdr) char file[CMSG_SPACE(sizeof(int))];
  struct msghdr message;
};

static void seal(struct envelope *envelope) {
  memset(envelope, 0, sizeof *envelope);
  envelope->words = (struct iovec){&envelope->letter, sizeof envelope->letter};
  envelope->message = (struct msghdr){.msg_iov = &envelope->words,
                                      .msg_iovlen = 1,
                                      .msg_control = envelope->file,
                                      .msg_controllen = sizeof envelope->file};
}

static bool refuse(const char *what, struct error *error) {
  return fail(error, "cannot %s another process of this host: %s", what, strerror(errno));
}

/* The kernel chooses a free name, of which the first byte is 0. */
bool handover_open(struct handover *handover, struct error *error) {
  struct sockaddr_un own = {.sun_family = AF_UNIX};
  struct timeval most = {.tv_sec = WAIT_SECONDS};
  socklen_t size = sizeof own;
  memset(handover, 0, sizeof *handover);
  handover->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handover->socket < 0) return refuse("open a socket for", error);
  handover->open = true;
  bool good = !bind(handover->socket, (struct sockaddr *)&own, sizeof own.sun_family) &&
              !getsockname(handover->socket, (struct sockaddr *)&own, &size) &&
              !setsockopt(handover->socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) &&
              getrandom(&handover->name.secret, sizeof handover->name.secret, 0) == sizeof handover->name.secret;
  size_t length = size - offsetof(struct sockaddr_un, sun_path);
  if (good && length > 1 && length < sizeof handover->name.socket) {
    memcpy(handover->name.socket, own.sun_path, length);
    return true;
  }
  refuse("name a socket for", error);
  handover_close(handover);
  return false;
}

void handover_close(struct handover *handover) {
  if (handover->open) close(handover->socket);
  handover->open = false;
}

bool handover_give(const struct handover *handover, const struct handover_name *to, uint32_t number, int file, struct error *error) {
  struct sockaddr_un place = {.sun_family = AF_UNIX};
  struct envelope envelope;
  size_t length = 1 + strlen(to->socket + 1);
  seal(&envelope);
  envelope.letter = (struct letter){.secret = to->secret, .number = number};
  memcpy(place.sun_path, to->socket, length);
  envelope.message.msg_name = &place;
  envelope.message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  struct cmsghdr *part = CMSG_FIRSTHDR(&envelope.message);
  *part = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(part), &file, sizeof file);
  return sendmsg(handover->socket, &envelope.message, 0) == sizeof envelope.letter || refuse("hand memory to", error);
}

/* The file of a message, or -1. */
static int file_of(struct envelope *envelope) {
  struct cmsghdr *part = CMSG_FIRSTHDR(&envelope->message);
  int file = -1;
  if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) memcpy(&file, CMSG_DATA(part), sizeof file);
  return file;
}

bool handover_take(const struct handover *handover, uint32_t *number, int *file, struct error *error) {
  struct envelope envelope;
  for (;;) {
    seal(&envelope);
    ssize_t bytes = recvmsg(handover->socket, &envelope.message, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return refuse("take memory from", error);
    *file = file_of(&envelope);
    *number = envelope.letter.number;
    if (bytes == sizeof envelope.letter && envelope.letter.secret == handover->name.secret && *file >= 0) return true;
    if (*file >= 0) close(*file);
  }
}
