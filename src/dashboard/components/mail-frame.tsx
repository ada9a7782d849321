import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

/**
 * Displays a mail in a document with its own content security policy, requested by the browser itself. That request
 * sends a member's session but cannot send a tab's API key.
 */

/** Grants nothing beyond pop-ups, which links need to open. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox';

interface ChoiceProps {
  readonly legend: string;
  /** Labels of both options. */
  readonly words: readonly [off: ComponentChildren, on: ComponentChildren];
  readonly isOn: boolean;
  choose(isOn: boolean): void;
}

const Choice = ({ legend, words, isOn, choose }: ChoiceProps): JSX.Element => (
  <fieldset class="seg">
    <legend class="vh">{legend}</legend>
    {words.map((word, index) => (
      <button key={index} type="button" aria-pressed={isOn === (index === 1)} onClick={() => choose(index === 1)}>
        {word}
      </button>
    ))}
  </fieldset>
);

const WIDTHS = [
  <>
    <Icon name="desktop" />
    Desktop
  </>,
  <>
    <Icon name="phone" />
    Phone
  </>,
] as const;

/** Matches when the dashboard itself is on a phone. */
const IS_PHONE = '(max-width: 760px)';

/** Display options of a mail. */
export interface Looks {
  readonly isPhone: boolean;
  readonly isDark: boolean;
  choose(looks: Partial<Pick<Looks, 'isPhone' | 'isDark'>>): void;
}

export const useLooks = (): Looks => {
  const [looks, setLooks] = useState({ isPhone: matchMedia(IS_PHONE).matches, isDark: false });
  return { ...looks, choose: (chosen) => setLooks((before) => ({ ...before, ...chosen })) };
};

export const LooksChoice = ({ looks }: { readonly looks: Looks }): JSX.Element => (
  <>
    <Choice legend="Width" words={WIDTHS} isOn={looks.isPhone} choose={(isPhone) => looks.choose({ isPhone })} />
    <Choice
      legend="Mail colours"
      words={['Light', 'Dark']}
      isOn={looks.isDark}
      choose={(isDark) => looks.choose({ isDark })}
    />
  </>
);

/** Width in pixels for which most mails are written. In a narrower space the mail is scaled down instead of cropped. */
const DESKTOP_WIDTH = 640;

/** Scale factor that fits a mail into its container. */
const useFit = () => {
  const within = useRef<HTMLDivElement>(null);
  const [fit, setFit] = useState(1);
  useLayoutEffect(() => {
    const element = within.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setFit(Math.min(1, element.clientWidth / DESKTOP_WIDTH) || 1));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { within, fit };
};

interface FrameProps {
  readonly source: string;
  /**
   * Changes when the document behind the source changes. The new document loads in the background and then replaces the
   * old one.
   */
  readonly revision?: string;
  readonly looks: Pick<Looks, 'isPhone' | 'isDark'>;
  readonly title: string;
}

export const MailFrame = ({ source, revision = '', looks, title }: FrameProps): JSX.Element => {
  const wanted = `${source} ${revision}`;
  const [shown, show] = useState(wanted);
  const frames = shown === wanted ? [wanted] : [shown, wanted];
  const look = `mail ${looks.isPhone ? 'phone' : ''} ${looks.isDark ? 'dark' : ''}`;
  const { within, fit } = useFit();
  return (
    <div class="mails" ref={within} style={{ '--fit': String(fit) }}>
      {frames.map((name) => (
        <iframe
          key={name}
          class={`${look} ${name === shown ? '' : 'behind'}`}
          title={title}
          sandbox={SANDBOX}
          src={name.slice(0, name.indexOf(' '))}
          onLoad={() => show(name)}
          {...(name !== shown && { 'aria-hidden': 'true', tabIndex: -1 })}
        />
      ))}
    </div>
  );
};
