import type { JSX } from 'preact';
import type { z } from 'zod';
import type {
  addedSuppressionsSchema,
  SerializedSuppression,
  suppressionImportSchema,
} from '../../http/resources/suppressions/add-suppressions.ts';
import { Action, type Outcome } from '../components/action.tsx';
import { DateField } from '../components/date-field.tsx';
import { request } from '../data/api.ts';
import { count } from '../data/time.ts';

/** Dialogs that change the suppression list. */

type AddResult = z.infer<typeof addedSuppressionsSchema>;
type ImportResult = z.infer<typeof suppressionImportSchema>;

/** Shows this many problems. The rest appear once these are fixed. */
const PROBLEMS_SHOWN = 8;
const COLUMNS = 'address,scope,reason,expires_at,note,topic_id';

const SCOPES = {
  all: 'everything',
  bulk: 'bulk mail',
  transactional: 'transactional mail',
} as const;

const filled = (form: FormData, name: string): string | undefined => String(form.get(name) ?? '').trim() || undefined;

export const AddSuppressions = (): JSX.Element => {
  const add = async (form: FormData): Promise<Outcome> => {
    const addresses = String(form.get('addresses'))
      .split(/[\s,;]+/)
      .filter(Boolean);
    const body = {
      addresses,
      scope: form.get('scope'),
      note: filled(form, 'note') ?? null,
      expires_at: filled(form, 'until') ?? null,
    };
    const { added, unchanged } = await request<AddResult>('/v1/suppressions', { method: 'POST', body });
    return {
      shown: (
        <p>
          <b class="b">{count(added)} added.</b> {unchanged > 0 && `${count(unchanged)} were already on the list.`}
        </p>
      ),
      word: 'Close',
    };
  };
  return (
    <Action
      word="Add"
      operation="POST /v1/suppressions"
      icon="plus"
      tone="primary"
      title="Suppress addresses"
      act={add}
    >
      <label class="row">
        Addresses
        <textarea
          class="inp multiline"
          name="addresses"
          required
          rows={4}
          spellcheck={false}
          placeholder="one per line"
        />
      </label>
      <label class="row">
        Mail to suppress
        <select class="inp" name="scope">
          {Object.entries(SCOPES).map(([scope, word]) => (
            <option key={scope} value={scope}>
              {word}
            </option>
          ))}
        </select>
      </label>
      <div class="row">
        <span>Until</span>
        <DateField name="until" label="Until" empty="no end" value={null} hasTime />
      </div>
      <label class="row">
        Evidence
        <input class="inp" name="note" maxLength={2000} placeholder="asked for it by phone" />
      </label>
    </Action>
  );
};

const ImportedRows = ({ imported, unchanged, refused, problems }: ImportResult): JSX.Element => (
  <>
    <h2>{count(imported)} added</h2>
    <p class="two">
      {count(unchanged)} were already on the list, {count(refused)} were rejected.
    </p>
    <ul class="problems">
      {problems.slice(0, PROBLEMS_SHOWN).map(({ line, message }) => (
        <li key={`${line} ${message}`}>
          Line {line}: <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
    {problems.length > PROBLEMS_SHOWN && <p class="muted">and {problems.length - PROBLEMS_SHOWN} more</p>}
  </>
);

export const ImportSuppressions = (): JSX.Element => {
  const take = async (form: FormData): Promise<Outcome> => {
    const file = form.get('file');
    const csv = file instanceof File ? await file.text() : '';
    const imported = await request<ImportResult>('/v1/suppressions/import', { method: 'POST', body: { csv } });
    return { shown: <ImportedRows {...imported} />, word: 'Close' };
  };
  return (
    <Action
      word="Import"
      operation="POST /v1/suppressions/import"
      icon="plus"
      tone="plain"
      title="Import addresses"
      act={take}
    >
      <p class="two">
        Choose a CSV file whose first row names its columns. Only <code>address</code> is required. You can import an
        export of this list unchanged.
      </p>
      <p class="two">
        <code>{COLUMNS.replaceAll(',', ', ')}</code>
      </p>
      <label class="row">
        File
        <input class="inp file" name="file" type="file" accept=".csv,text/csv" required />
      </label>
    </Action>
  );
};

export const RemoveSuppression = ({ suppression }: { readonly suppression: SerializedSuppression }): JSX.Element => {
  const remove = async (): Promise<undefined> => {
    await request(`/v1/suppressions/${suppression.id}`, { method: 'DELETE' });
  };
  const name = suppression.address ?? 'this address';
  return (
    <Action
      word="Remove"
      operation="DELETE /v1/suppressions/:id"
      icon="cross"
      tone="danger"
      isSmall
      title={`Send to ${name} again?`}
      typed={suppression.address ?? 'remove'}
      act={remove}
    >
      <p class="two">
        This address gets mail again, until it bounces, complains or unsubscribes. The evidence is kept. After a bounce
        or a complaint, remove it only for a reason: mailbox providers count such mail against you.
      </p>
    </Action>
  );
};
