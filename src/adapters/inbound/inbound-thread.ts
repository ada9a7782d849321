import { serveTasks } from '../../lib/async/serve-tasks.ts';
import { readInbound } from './read-inbound.ts';

/** Entry of a thread that reads inbound mail. */
serveTasks(readInbound);
