package live

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Screen draws each frame over the previous one, below the existing output of a terminal. The last frame remains
// visible.
type Screen struct {
	file    *os.File
	options Options
	// drawn is the number of lines of the current frame. width and height are the size that the terminal had when that
	// frame was drawn.
	drawn         int
	width, height int
}

// NewScreen returns a Screen that draws on w, or nil if w is not a terminal that can move its cursor.
func NewScreen(w io.Writer, hint string) *Screen {
	file := terminalOf(w)
	if file == nil {
		return nil
	}
	return &Screen{file: file, options: Options{Colour: colourAllowed(), Plain: !utf8Locale(), Hint: hint}}
}

// terminalOf returns w if it is a terminal that can move its cursor, else nil.
func terminalOf(w io.Writer) *os.File {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return file
}

// Terminal returns the width of the terminal w in columns, and whether it can show only ASCII. columns is 0 if w is
// not a terminal.
func Terminal(w io.Writer) (columns int, ascii bool) {
	file := terminalOf(w)
	if file == nil {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0, false
	}
	return columns, !utf8Locale()
}

// colourAllowed reports whether colours are allowed. By the convention of no-color.org, they are not if NO_COLOR is
// set.
func colourAllowed() bool { return os.Getenv("NO_COLOR") == "" }

// utf8Locale reports whether the locale is UTF-8. It returns true if the environment sets no locale, because most
// terminals can show UTF-8.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return true
}

// Draw replaces the current frame.
func (s *Screen) Draw(view View) {
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	var b strings.Builder
	switch {
	case s.drawn > 0 && (width != s.width || height != s.height):
		// The terminal has been resized, so the position of the current frame is unknown. Clear the whole screen.
		b.WriteString("\x1b[H\x1b[2J")
	case s.drawn > 0:
		b.WriteString("\x1b[" + strconv.Itoa(s.drawn) + "A\r")
	}
	s.width, s.height = width, height
	s.options.Width, s.options.Height = width, height
	frame := Frame(view, s.options)
	for _, one := range frame {
		b.WriteString(one + "\x1b[K\r\n") // Clear only what follows the new text: clearing the screen would flicker.
	}
	b.WriteString("\x1b[J")
	s.drawn = len(frame)
	_, _ = s.file.WriteString(b.String())
}
