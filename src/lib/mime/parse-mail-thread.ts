import { serveTasks } from '../async/serve-tasks.ts';
import type { ParseTask } from './mail-parser.ts';
import { parseMail, parseMailLeniently } from './parse-mail.ts';

/** Entry of a thread that parses mail out of shared memory. Decoders accept no shared memory, hence the copy. */
serveTasks(({ memory, isLenient }: ParseTask) => {
  const raw = Buffer.from(new Uint8Array(memory).slice().buffer);
  return isLenient ? parseMailLeniently(raw) : parseMail(raw);
});
