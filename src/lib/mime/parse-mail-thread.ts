import { serveTasks } from '../async/serve-tasks.ts';
import { parseMail } from './parse-mail.ts';

/** Entry of a thread that parses mail out of shared memory. Decoders accept no shared memory, hence the copy. */
serveTasks((shared: SharedArrayBuffer) => parseMail(Buffer.from(new Uint8Array(shared).slice().buffer)));
