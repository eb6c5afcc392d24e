package live

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Screen draws frames over each other on a terminal, below what was there before. The last one stays.
type Screen struct {
	file    *os.File
	options Options
	// drawn lines of the frame that is there, on a terminal of width and height.
	drawn         int
	width, height int
}

// NewScreen draws on w; nil where that is no terminal, or one that cannot move its cursor.
func NewScreen(w io.Writer, hint string) *Screen {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &Screen{file: file, options: Options{Colour: colourAllowed(), Plain: !utf8Locale(), Hint: hint}}
}

// colourAllowed is the convention of no-color.org.
func colourAllowed() bool { return os.Getenv("NO_COLOR") == "" }

// utf8Locale is what the environment says of the characters that a terminal can show; most can show all.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return true
}

// Draw replaces the frame by a new one.
func (s *Screen) Draw(view View) {
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	var b strings.Builder
	switch {
	case s.drawn > 0 && (width != s.width || height != s.height):
		// A terminal that has changed its size has moved its lines; where they are now nobody tells.
		b.WriteString("\x1b[H\x1b[2J")
	case s.drawn > 0:
		b.WriteString("\x1b[" + strconv.Itoa(s.drawn) + "A\r")
	}
	s.width, s.height = width, height
	s.options.Width, s.options.Height = width, height
	frame := Frame(view, s.options)
	for _, one := range frame {
		b.WriteString(one + "\x1b[K\r\n") // the rest of the old line goes; to clear all first would flicker
	}
	b.WriteString("\x1b[J")
	s.drawn = len(frame)
	_, _ = s.file.WriteString(b.String())
}

// Say writes a line that stays, above what is drawn next.
func (s *Screen) Say(words string) {
	s.drawn = 0
	_, _ = s.file.WriteString(words + "\r\n")
}
