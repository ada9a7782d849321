import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { DateField } from '../components/date-field.tsx';
import { Icon } from '../components/icons.tsx';
import { Download } from '../components/screen.tsx';
import { useMayRead } from '../data/access.ts';

const PATH = '/v1/audit/reports/access';

const FORMATS = [
  ['PDF', 'application/pdf', 'access-review.pdf'],
  ['CSV', 'text/csv', 'access-review.csv'],
  ['JSON', 'application/json', 'access-review.json'],
] as const;

/** Asks for a day and downloads the access review as of the end of it. */
export const AccessReview = (): JSX.Element | null => {
  const dialog = useRef<HTMLDialogElement>(null);
  const [day, setDay] = useState<string | null>(null);
  if (!useMayRead()(PATH)) return null;
  return (
    <>
      <button type="button" class="btn" onClick={() => dialog.current?.showModal()}>
        <Icon name="save" />
        Access review
      </button>
      <dialog ref={dialog} class="dlg" aria-label="Access review">
        <h2>Access review</h2>
        <p class="two">
          Members, API keys and auditors with their roles and scopes, who granted access, and when it ended. Each event
          has a proof.
        </p>
        <div class="row">
          As of the end of this day, in the time zone of the organization
          <DateField label="Day of the review" value={null} empty="now" timeZone="UTC" onDate={setDay} />
        </div>
        <div class="acts">
          <button type="button" class="btn" onClick={() => dialog.current?.close()}>
            Close
          </button>
          {FORMATS.map(([word, accept, name]) => (
            <Download
              key={word}
              word={word}
              path={PATH}
              query={day === null ? {} : { at: day.slice(0, 'YYYY-MM-DD'.length) }}
              accept={accept}
              name={name}
            />
          ))}
        </div>
      </dialog>
    </>
  );
};
