import { type ComponentChildren, Fragment, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type OperationName, useMay } from '../data/access.ts';
import { useHold } from '../data/location.ts';
import { reloadChanged } from '../data/queries.ts';
import { focusScreen } from '../data/shortcuts.ts';
import { useTimes } from '../data/time.ts';
import { useAsOf } from './as-of.tsx';
import { CopyButton } from './facts.tsx';
import { Icon, type IconName } from './icons.tsx';
import { Fault } from './states.tsx';

interface IfAllowedProps {
  readonly operation: OperationName;
  readonly children: ComponentChildren;
}

/** Shows the controls of an operation to those who may use it. */
export const IfAllowed = ({ operation, children }: IfAllowedProps): JSX.Element | null =>
  useMay(operation) ? <Fragment>{children}</Fragment> : null;

interface ActButtonProps {
  readonly word: string;
  readonly icon: IconName;
  readonly isSmall?: boolean;
  /** The API's operation. Without permission for it there is no button. */
  readonly operation: OperationName;
  act(): Promise<unknown>;
}

/**
 * A button for an action that needs no confirmation. Afterwards all visible data is reloaded; an error shows on the
 * button. Disabled on a screen of the past.
 */
export const ActButton = ({ word, icon, isSmall = false, operation, act }: ActButtonProps): JSX.Element | null => {
  const may = useMay(operation);
  const isPast = useAsOf() !== null;
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const begin = async (): Promise<void> => {
    setBusy(true);
    try {
      await act();
      setRefusal(null);
      await reloadChanged();
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  if (!may) return null;
  return (
    <>
      {refusal !== null && (
        <span class="problem" role="alert">
          {refusal}
        </span>
      )}
      <button
        type="button"
        class={`btn ${isSmall ? 'small' : ''}`}
        disabled={isBusy || isPast}
        onClick={() => void begin()}
      >
        <Icon name={icon} />
        {word}
      </button>
    </>
  );
};

interface NewValueProps {
  readonly value: string;
  /** Name of the secret's owner. */
  readonly name: string;
  /** ISO 8601. The previous value works until then. */
  readonly previousUntil?: string | undefined;
  /** Public key that verifies signatures made with the secret. null: the secret signs without one. */
  readonly verificationKey?: string | null;
}

const CopiedValue = ({ text, label }: { readonly text: string; readonly label: string }): JSX.Element => (
  <div class="secret cp">
    <code>{text}</code>
    <CopyButton text={text} label={label} />
  </div>
);

/** Displays a secret. It is never shown again. */
const NewValue = ({ value, name, previousUntil, verificationKey = null }: NewValueProps): JSX.Element => {
  const times = useTimes();
  return (
    <>
      <h2>
        <bdi>{name}</bdi> has a new secret
      </h2>
      <CopiedValue text={value} label="Copy the secret" />
      {verificationKey !== null && (
        <>
          <h3>Verification key</h3>
          <CopiedValue text={verificationKey} label="Copy the verification key" />
        </>
      )}
      <p class="muted">
        Store it now. You cannot see it again.
        {previousUntil !== undefined && ` The previous secret works until ${times.short(previousUntil)}.`}
      </p>
    </>
  );
};

/** Shows the value in the dialog until the person confirms that it is copied. */
export const newValue = (made: NewValueProps): Outcome => shownOnce(<NewValue {...made} />);

/** An outcome that is never shown again: only its button closes the dialog. */
export const shownOnce = (shown: ComponentChildren): Outcome => ({ shown, word: 'I have copied it', isSecret: true });

/** The content of the dialog after an action, and the label of the button that closes it. */
export interface Outcome {
  readonly shown: ComponentChildren;
  readonly word: string;
  /** Neither Escape nor leaving the screen closes the dialog. */
  readonly isSecret?: true;
}

interface ActionProps {
  readonly word: string;
  /** Label of the button that opens the dialog. Default: `word`. */
  readonly opener?: string;
  readonly icon: IconName;
  readonly tone: 'primary' | 'danger' | 'plain';
  /** The API's operation. Without permission for it there is no button. */
  readonly operation: OperationName;
  /** Heading of the dialog: a question or statement. */
  readonly title: string;
  /**
   * Text to type before the action can be confirmed, for actions that cannot be undone: the name of what ends; for several
   * together their number, or a word.
   */
  readonly typed?: string;
  readonly isSmall?: boolean;
  readonly children: ComponentChildren;
  /** @returns the outcome to show; undefined: the dialog closes. */
  act(form: FormData): Promise<Outcome | undefined>;
}

const TypedName = ({ name, onTyped }: { readonly name: string; onTyped(isRight: boolean): void }): JSX.Element => (
  <label class="row">
    <span class="any">
      Type <bdi class="mono">{name}</bdi> to confirm
    </span>
    <input
      class="inp"
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) => onTyped(currentTarget.value === name)}
    />
  </label>
);

/** Moves the focus to the screen if the action removed the button that the browser would focus. */
const regainFocus = (): void => {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) focusScreen();
  });
};

/** Styles of the button that opens the dialog and of the one that confirms it. */
const LOOKS = {
  primary: { opener: 'primary', confirm: 'primary' },
  danger: { opener: 'danger', confirm: 'danger' },
  plain: { opener: '', confirm: 'primary' },
} as const;

interface OpenerProps extends Required<Pick<ActionProps, 'word' | 'icon' | 'tone' | 'operation' | 'isSmall'>> {
  open(): void;
}

const Opener = ({ word, icon, tone, operation, isSmall, open }: OpenerProps): JSX.Element | null => {
  const isPast = useAsOf() !== null;
  if (!useMay(operation)) return null;
  return (
    <button
      type="button"
      class={`btn ${LOOKS[tone].opener} ${isSmall ? 'small' : ''}`}
      disabled={isPast}
      onClick={open}
    >
      <Icon name={icon} />
      {word}
    </button>
  );
};

/** Closes the dialog only where nothing is lost: a secret needs its button, and typed text a second word. */
const useClosing = (dialog: { readonly current: HTMLDialogElement | null }, reset: () => void) => {
  const [isTouched, setTouched] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const isMeant = useRef(false);
  const close = (): void => {
    isMeant.current = true;
    dialog.current?.close();
  };
  /** @param isSecret the dialog shows a secret. */
  const handlersFor = (isSecret: boolean) => {
    const isKept = isSecret || isTouched;
    const stay = (event: Event): void => {
      if (!isKept) return;
      event.preventDefault();
      if (!isSecret) setAsking(true);
    };
    return {
      onCancel: stay,
      onKeyDown: (event: KeyboardEvent): void => {
        if (event.key === 'Escape') stay(event);
      },
      onClose: (): void => {
        // Some browsers close the dialog on a second Escape whatever the page says.
        if (isKept && !isMeant.current) {
          dialog.current?.showModal();
          return;
        }
        isMeant.current = false;
        setTouched(false);
        setAsking(false);
        reset();
      },
    };
  };
  return { isTouched, isAsking, close, handlersFor, touch: () => setTouched(true), goOn: () => setAsking(false) };
};

interface EndProps extends Pick<ActionProps, 'word' | 'tone'> {
  readonly isDisabled: boolean;
  readonly isAsking: boolean;
  close(): void;
  goOn(): void;
}

/** Buttons of a dialog. After Escape they ask what happens to the typed text. */
const End = ({ word, tone, isDisabled, isAsking, close, goOn }: EndProps): JSX.Element =>
  // The keys keep a pressed button from becoming the submit button under the same click.
  isAsking ? (
    <div key="ask" class="acts" role="alert">
      <span class="two sp">Discard what you typed?</span>
      <button type="button" class="btn danger" onClick={close}>
        Discard
      </button>
      <button type="button" class="btn primary" onClick={goOn}>
        Keep editing
      </button>
    </div>
  ) : (
    <div key="end" class="acts">
      <button type="button" class="btn" onClick={close}>
        Not now
      </button>
      <button type="submit" class={`btn ${LOOKS[tone].confirm}`} disabled={isDisabled}>
        {word}
      </button>
    </div>
  );

/**
 * A button with a confirmation dialog that explains the effects and then shows the outcome. Afterwards all visible data
 * is reloaded. Disabled on a screen of the past.
 */
export const Action = (props: ActionProps): JSX.Element => {
  const { word, opener = word, icon, tone, operation, title, typed, isSmall = false, children, act } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isTyped, setTyped] = useState(false);
  const [isBusy, setBusy] = useState(false);
  // Runs after the fields have rendered, so that the first one can receive the focus.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  useEffect(() => regainFocus, []);
  const reset = (): void => {
    regainFocus();
    setOpen(false);
    setOutcome(null);
    setError(null);
    setTyped(false);
  };
  const { close, handlersFor, touch, ...closing } = useClosing(dialog, reset);
  useHold('secret', outcome?.isSecret === true);
  useHold('unsaved', isOpen && closing.isTouched && outcome === null && !isBusy);
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const left = await act(new FormData(event.currentTarget));
      setError(null);
      if (left === undefined) close();
      else setOutcome(left);
      await reloadChanged();
    } catch (refused) {
      setError(refused instanceof Error ? refused : new Error(String(refused)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Opener
        word={opener}
        icon={icon}
        tone={tone}
        operation={operation}
        isSmall={isSmall}
        open={() => setOpen(true)}
      />
      <dialog ref={dialog} class="dlg" aria-label={title} {...handlersFor(outcome?.isSecret === true)}>
        {isOpen && outcome === null && (
          <form onSubmit={(event) => void submit(event)} onInput={touch}>
            <h2>
              <bdi>{title}</bdi>
            </h2>
            {children}
            {typed !== undefined && <TypedName name={typed} onTyped={setTyped} />}
            {error !== null && <Fault error={error} />}
            <End
              word={word}
              tone={tone}
              isDisabled={isBusy || (typed !== undefined && !isTyped)}
              isAsking={closing.isAsking}
              close={close}
              goOn={closing.goOn}
            />
          </form>
        )}
        {outcome !== null && (
          <>
            {outcome.shown}
            <div class="acts">
              <button type="button" class="btn primary" onClick={close}>
                {outcome.word}
              </button>
            </div>
          </>
        )}
      </dialog>
    </>
  );
};
