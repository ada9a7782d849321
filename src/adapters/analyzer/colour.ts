/** The names that mail is written with; another name is equal to itself alone. */
const NAMES: Readonly<Record<string, string>> = {
  white: '#ffffff',
  black: '#000000',
  red: '#ff0000',
  green: '#008000',
  blue: '#0000ff',
  yellow: '#ffff00',
  gray: '#808080',
  grey: '#808080',
  silver: '#c0c0c0',
  whitesmoke: '#f5f5f5',
  snow: '#fffafa',
};

const CHARACTERS_MAX = 40;
const SHORT_HEX = /^#[0-9a-f]{3}$/;
const BARE_HEX = /^[0-9a-f]{6}$/;
const RGB = /^rgb\(\s?(\d{1,3})[ ,]\s?(\d{1,3})[ ,]\s?(\d{1,3})\s?\)$/;

const UNSEEN = /^(?:rgba|hsla)\(.*[ ,/]\s?0?\.?0+%?\s?\)$/;

const twoDigits = (number: string): string => Number(number).toString(16).padStart(2, '0');

/** A colour in one spelling, so that equal ones are equal. */
export const colourOf = (written: string): string => {
  const text = written.slice(0, CHARACTERS_MAX).trim().toLowerCase();
  const rgb = RGB.exec(text);
  if (rgb !== null) return `#${rgb.slice(1).map(twoDigits).join('')}`;
  if (UNSEEN.test(text)) return 'transparent';
  if (SHORT_HEX.test(text)) return text.replaceAll(/[0-9a-f]/g, '$&$&');
  return BARE_HEX.test(text) ? `#${text}` : (NAMES[text] ?? text);
};
