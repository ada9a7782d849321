/**
 * Endings by which a bare word of a text is taken for a host name. Left out are those that are also endings of files
 * and of things that are written with a dot (`Node.js`, `main.py`, `README.md`).
 */
export const TOP_LEVEL_NAMES: ReadonlySet<string> = new Set([
  ...'com net org info biz edu gov mil int name pro coop app dev shop store online site website cloud bank'.split(' '),
  ...'tech club xyz top page blog news email live link space world today digital agency money finance'.split(' '),
  ...'ae ar at au be bg br ca ch cl cn co cz de dk ee es eu fi fr gr hk hr hu ie il in io ir it jp kr lt lu'.split(' '),
  ...'lv mx my nl no nz pe ph pk pt ro ru sa se sg si sk th tr tw ua uk us uy ve vn za'.split(' '),
]);
