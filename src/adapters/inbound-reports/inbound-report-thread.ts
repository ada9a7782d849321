import { serveTasks } from '../../lib/async/async.ts';
import { readInboundReport } from './read-inbound-report.ts';

/** Entry of a thread that reads mail of the return address. */
serveTasks(readInboundReport);
