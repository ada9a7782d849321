import { Tokenizer } from 'htmlparser2';

type Callbacks = ConstructorParameters<typeof Tokenizer>[1];

const nothing = (): void => {};

const UNUSED: Callbacks = {
  ...{ ontext: nothing, ontextentity: nothing, oncdata: nothing, oncomment: nothing, onend: nothing },
  ...{ onopentagname: nothing, onopentagend: nothing, onselfclosingtag: nothing, onclosetag: nothing },
  ...{ onattribname: nothing, onattribdata: nothing, onattribentity: nothing, onattribend: nothing },
  ...{ ondeclaration: nothing, onprocessinginstruction: nothing },
};

/** Tells the tokens of all of the html, as offsets into it, to those who want to know. */
export const tokenize = (html: string, decodeEntities: boolean, callbacks: Partial<Callbacks>): void => {
  const tokenizer = new Tokenizer({ decodeEntities }, { ...UNUSED, ...callbacks });
  tokenizer.write(html);
  tokenizer.end();
};
