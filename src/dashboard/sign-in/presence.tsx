import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CopyField } from '../components/facts.tsx';
import { ApiFault, presenceAsked } from '../data/api.ts';
import { session } from '../data/credentials.ts';
import { provePresence } from '../data/session.ts';
import { useStore } from '../data/store.ts';
import { loaded, PasskeyButton, usePossible } from './passkeys.tsx';

/**
 * Asks the member to prove their identity before an action that an unattended browser must not allow. The action then
 * continues.
 */

const TOKEN = /ob_link_\w+/;

/** True if the member has passkeys that this browser can use; null: not yet known. */
const useHasPasskeys = (): boolean | null => {
  const isPossible = usePossible();
  const [has, setHas] = useState<boolean | null>(null);
  useEffect(() => {
    const find = async (): Promise<void> => setHas((await (await loaded()).list()).data.length > 0);
    void find().catch(() => setHas(false));
  }, []);
  return has === null ? null : has && isPossible;
};

const linkCommand = (memberId: string, organizationId: string): string =>
  `npm run outbox -- members link --member ${memberId} --organization ${organizationId}`;

const problemOf = (error: unknown): string =>
  error instanceof ApiFault && error.code === 'sign_in_link_invalid'
    ? 'This link was used before, is older than a few minutes, or belongs to another member.'
    : `It did not succeed: ${String(error instanceof Error ? error.message : error)}`;

const ByLink = ({ done }: { done(): void }): JSX.Element => {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const prove = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const token = TOKEN.exec(String(new FormData(event.currentTarget).get('link')))?.[0];
    if (token === undefined) return setProblem('This is no link to sign in.');
    setBusy(true);
    try {
      await provePresence({ token });
      done();
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  const own = useStore(session);
  return (
    <form class="prove" onSubmit={(event) => void prove(event)}>
      <label class="row">
        A fresh link
        <input class="inp mono" name="link" autocomplete="off" spellcheck={false} required maxLength={2000} />
      </label>
      <p class="muted small">
        An owner can make one for you under Settings. The person who runs this service can print one with this command:
      </p>
      {own?.member && <CopyField text={linkCommand(own.member.id, own.organization.id)} name="the command" />}
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="btn" disabled={isBusy}>
        Use the link
      </button>
    </form>
  );
};

const Ways = ({ done }: { done(): void }): JSX.Element | null => {
  const hasPasskeys = useHasPasskeys();
  if (hasPasskeys === null) return null;
  if (!hasPasskeys) return <ByLink done={done} />;
  const prove = async (): Promise<void> => {
    await (await loaded()).prove();
    done();
  };
  return (
    <>
      <PasskeyButton word="Use a passkey" tone="primary" act={prove} />
      <details>
        <summary>Without a passkey</summary>
        <ByLink done={done} />
      </details>
    </>
  );
};

/** Opens automatically when a request needs proof of presence. */
export const PresenceDialog = (): JSX.Element => {
  const asked = useStore(presenceAsked);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (asked !== null) dialog.current?.showModal();
  }, [asked]);
  const done = (): void => {
    asked?.answer(true);
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} class="dlg" aria-label="Is it still you?" onClose={() => asked?.answer(false)}>
      {asked !== null && (
        <>
          <h2>Is it still you?</h2>
          <p class="two">
            This can give away the organization, or cannot be undone. You last showed who you are more than 10 minutes
            ago: show it again, and it goes on.
          </p>
          <div class="prove">
            <Ways done={done} />
          </div>
          <div class="acts">
            <button type="button" class="btn" onClick={() => dialog.current?.close()}>
              Not now
            </button>
          </div>
        </>
      )}
    </dialog>
  );
};
