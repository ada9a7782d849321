import { serveTasks } from '../../lib/async/serve-tasks.ts';
import { type Reading, readMail } from './captured-mail.ts';

/** Entry of a thread that answers a question about mail in shared memory. Decoders accept no shared memory, hence the copy. */
serveTasks(({ shared, reading }: { readonly shared: SharedArrayBuffer; readonly reading: Reading }) =>
  readMail(Buffer.from(new Uint8Array(shared).slice().buffer), reading),
);
