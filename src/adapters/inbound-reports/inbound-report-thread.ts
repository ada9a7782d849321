import { serveTasks } from '../../lib/async/serve-tasks.ts';
import { readInboundReport } from './read-inbound-report.ts';

/** Entry of a thread that reads mail of the return address. */
serveTasks(readInboundReport);
