import { apiKey } from '../../domain/api-key/api-key.ts';
import { eventCodec } from '../../domain/codec.ts';
import { destination } from '../../domain/destination/destination.ts';
import { organization } from '../../domain/organization/organization.ts';
import { categoryOf, type RecordedEvent } from '../../domain/ports/event-store.ts';
import { reputation } from '../../domain/reputation/reputation.ts';
import { domainRecords } from '../../domain/sending-domain/domain-records.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { warmUp } from '../../domain/warm-up/warm-up.ts';
import { webhook } from '../../domain/webhook/webhook.ts';
import { asRecords } from '../database.ts';
import type { Projection } from '../projection.ts';

/**
 * Copies events of the families that live views are folded from: the key cache, sender domains, holds, endpoints of
 * webhooks, and what the operator's commands list. `read-copy.ts` reads them in place of the whole log.
 */

/** Every event of theirs is needed. */
const KEPT_WHOLE = [organization.category, sendingDomain.category, apiKey.category, webhook.category, warmUp.category];

/**
 * Their state follows from the last event of each type in a stream, taken in order: a destination that is suspended every
 * few minutes for a year is two rows. A new event of theirs that adds to an earlier one of its type moves the family up.
 */
const KEPT_LAST = [destination.category, domainRecords.category, reputation.category];

const isKeptLast: ReadonlySet<string> = new Set(KEPT_LAST);
const copied: ReadonlySet<string> = new Set([...KEPT_WHOLE, ...KEPT_LAST]);

/** Whether all events that a fold of these families needs are copied. */
export const areCopied = (categories: readonly string[] | undefined): boolean =>
  categories?.every((category) => copied.has(category)) ?? false;

/** The events themselves are checked and in the shapes of today: an older process than the copy's refuses them. */
const rowOf = (event: RecordedEvent) => {
  const category = categoryOf(event.stream);
  const { type, schemaVersion, data } = eventCodec.encode(event);
  return {
    stream: event.stream,
    slot: isKeptLast.has(category) ? type : String(event.revision),
    position: event.position,
    revision: event.revision,
    id: event.id,
    type,
    schemaVersion,
    category,
    data: JSON.stringify(data),
    metadata: JSON.stringify(event.metadata),
  };
};

/** A row that is new has never been locked by an update: its `xmax` is 0. */
const PUT = `
  with put as (
    insert into live_view_events
      (stream, slot, position, revision, id, type, schema_version, category, data, metadata)
    select stream, slot, position, revision, id, type, "schemaVersion", category, data, metadata
    from json_to_recordset($1) as e(stream text, slot text, position text, revision integer, id text, type text,
      "schemaVersion" integer, category text, data text, metadata text)
    on conflict (stream, slot) do update set position = excluded.position, revision = excluded.revision,
      id = excluded.id, schema_version = excluded.schema_version, data = excluded.data, metadata = excluded.metadata
    returning xmax = 0 as is_new
  )
  insert into live_view_size (events) select count(*) from put where is_new
  on conflict (only_row) do update set events = live_view_size.events + excluded.events`;

export const liveViewsProjection: Projection = {
  name: 'live-views',
  version: 1,
  categories: [...copied],
  tables: ['live_view_events', 'live_view_size'],
  apply: async (db, events) => {
    const rows = events.filter(({ stream }) => copied.has(categoryOf(stream))).map(rowOf);
    if (rows.length === 0) return;
    const bySlot = new Map(rows.map((row) => [`${row.stream} ${row.slot}`, row]));
    await db.query(PUT, asRecords([...bySlot.values()]));
  },
};
