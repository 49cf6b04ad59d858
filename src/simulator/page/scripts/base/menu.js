// A small menu at a row: what can be done with it.
import { button, byId, el, icon } from './elements.js';

let opener;

/** A button that opens a menu; `items` gives `[text, run]` for each entry when it is opened. */
export function menuButton(about, items) {
  const title = `Actions for ${about}`;
  const open = (event) => openMenu(event.currentTarget, about, items());
  const more = { class: 'quiet more', 'aria-haspopup': 'menu', 'aria-label': title, title };
  return button(icon('dots'), 'menu', open, more);
}

function openMenu(from, about, items) {
  const menu = byId('menu');
  opener = from;
  const entries = items.map(([text, run]) => {
    if (text === '-') return el('hr', { role: 'separator' });
    const choose = () => {
      menu.hidePopover();
      run();
    };
    return button(text, text, choose, { role: 'menuitem', tabindex: '-1' });
  });
  menu.setAttribute('aria-label', `Actions for ${about}`);
  menu.replaceChildren(...entries);
  menu.showPopover();
  const at = from.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = at.bottom + 4 + height <= innerHeight;
  menu.style.left = `${Math.max(8, Math.min(at.right - width, innerWidth - width - 8))}px`;
  menu.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - height - 4)}px`;
  menu.querySelector('[role=menuitem]')?.focus();
}

function moveIn(menu, event) {
  const entries = [...menu.querySelectorAll('[role=menuitem]')];
  const n = entries.indexOf(document.activeElement);
  const to = { ArrowDown: n + 1, ArrowUp: n - 1, Home: 0, End: -1 }[event.key];
  if (event.key === 'Tab') menu.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  entries.at(to % entries.length)?.focus();
}

/** Makes the menu of the page work; there is one, and it moves to where it is needed. */
export function prepareMenu() {
  const menu = byId('menu');
  menu.addEventListener('keydown', (event) => moveIn(menu, event));
  menu.addEventListener('toggle', ({ newState }) => {
    if (newState === 'closed' && (menu.contains(document.activeElement) || document.activeElement === document.body)) {
      opener?.focus({ preventScroll: true });
    }
  });
}
