import type { EventStore } from '../../src/domain/kernel/event-store.ts';
import type { MailTransport } from '../../src/domain/ports/mail.ts';
import type { Secrets } from '../../src/domain/ports/secrets.ts';
import type { Destinations } from '../../src/workers/delivery/due.ts';
import type { Timetable } from '../../src/workers/delivery/sweep.ts';
import type { Process } from './process.ts';

/** A deliberately broken part, which the rules must detect. */
export interface Breakage {
  readonly store?: (store: EventStore, process: Process) => EventStore;
  readonly transport?: (transport: MailTransport) => MailTransport;
  readonly secrets?: (secrets: Secrets, process: Process) => Secrets;
  readonly timetable?: Timetable;
  readonly destinations?: (destinations: Destinations) => Destinations;
}
